/* types/one_type.inc.h: includes EACH_TYPE for one row of each_type.inc.h and undefines its macros, but for those that
 * the next row has too. */
#include EACH_TYPE

#ifndef NEXT_SATURATES
#undef T
#undef C
#undef LOAD
#undef VALUE
#undef ROW
#undef LOAD_BLOCK
#undef WIDEN
#undef NARROW
#undef LANES_LOAD
#undef ROUND_IN_BLOCKS
#endif
#undef STORE
#undef ROUND
#undef NAME
#undef LANES_STORE
#undef NORM_IN_DOUBLES
#undef STORE_BLOCK
#undef INTEGER
#undef ELEMENT
#undef SHIFTED
#undef NEXT_SATURATES
