/* amx_works.h: whether AMX may be used. */
#ifndef GOPS_ISA_AMX_WORKS_H
#define GOPS_ISA_AMX_WORKS_H

#include <stdbool.h>

/* Asks the kernel for the tiles' state, which it saves with a thread's registers, for the whole
 * process. False where it refuses, or knows no AMX. */
bool gops_amx_permitted(void);

/* Multiplies by the tile instructions once, and looks whether the products are right. They must be
 * permitted. */
typedef bool gops_amx_works_fn(void);
extern gops_amx_works_fn gops_amx_works_amx, gops_amx_works_amx_emulated;

#endif
