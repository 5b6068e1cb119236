/* isa/one_compute.inc.h: includes EACH_COMPUTE for one type of each_compute.inc.h and undefines its
 * macros. */
#define LOW GOPS_PASTE(LOW, LANES)
#define HIGH GOPS_PASTE(HIGH, LANES)
#define EVEN GOPS_PASTE(EVEN, LANES)
#define EVEN_ODD GOPS_PASTE(EVEN_ODD, LANES)

#include EACH_COMPUTE

#undef C
#undef LANES
#undef NAME
#undef LOW
#undef HIGH
#undef EVEN
#undef EVEN_ODD
#undef REGISTER
#undef MASK
#undef INTRINSIC
