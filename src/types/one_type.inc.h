/* types/one_type.inc.h: includes EACH_TYPE for one row of each_type.inc.h and undefines its macros.
 */
#include EACH_TYPE

#undef T
#undef C
#undef LOAD
#undef STORE
#undef VALUE
#undef ROUND
#undef NAME
#undef ROW
#undef LOAD_BLOCK
#undef WIDEN
#undef NARROW
#undef LANES_LOAD
#undef LANES_STORE
#undef ROUND_IN_BLOCKS
#undef NORM_IN_DOUBLES
#undef STORE_BLOCK
#undef INTEGER
#undef ELEMENT
#undef SHIFTED
