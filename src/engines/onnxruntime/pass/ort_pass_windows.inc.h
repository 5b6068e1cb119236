/*
 * ort_pass_windows.inc.h: ort_pass_window.inc.h for the largest and the sum, with one set of vectors.
 *
 * Parameters, which this file undefines: TARGET, VECTOR, LANES, LOAD and STORE of ort_pass_window.inc.h, and
 *
 *   SET(symbol)    puts the set's name in front of a symbol
 *   ALL(f)         a vector of a float
 *   ADD(v, w), TIMES(v, w), LARGER(v, w)
 *                  lane by lane; as maxps, the second value where one is a NaN
 *   EVENS(p)       p[0], p[2], ...; ODDS(p) those in between, in an order that IN_ORDER(v) puts right
 */
#define NAME(symbol) SET(largest_##symbol)
#define FIRST(v) LARGER(v, ALL(EMPTY))
#define COMBINE(v, w) LARGER(w, v)
#define COMBINE_ONE(a, b) larger_one(b, larger_one(a, EMPTY))
#define EMPTY (-INFINITY)
#include "engines/onnxruntime/pass/ort_pass_window.inc.h"

#define NAME(symbol) SET(sum_##symbol)
#define FIRST(v) (v)
#define COMBINE(v, w) ADD(v, w)
#define COMBINE_ONE(a, b) ((a) + (b))
#define EMPTY 0.0f
#include "engines/onnxruntime/pass/ort_pass_window.inc.h"

#undef TARGET
#undef VECTOR
#undef LANES
#undef SET
#undef LOAD
#undef STORE
#undef ALL
#undef ADD
#undef TIMES
#undef LARGER
#undef EVENS
#undef ODDS
#undef IN_ORDER
