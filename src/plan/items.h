/* plan/items.h: work items of methods that cut the groups of an image, the blocks of output channels of a group, and
 * its panels: of pixels, or of rows of tiles. */
#ifndef GOPS_PLAN_ITEMS_H
#define GOPS_PLAN_ITEMS_H

#include "base/checked.h"

/* Numbers of these: into how many parts they are cut, or how many there are. */
typedef struct gops_items {
    int64_t groups, blocks, panels;
} gops_items;

/* What an item computes. */
typedef struct gops_item {
    int64_t image;
    gops_range groups, blocks, panels;
} gops_item;

/* Of an image. */
static inline int64_t gops_count_items(const gops_items *parts)
{
    return parts->groups * parts->blocks * parts->panels;
}

/* Items with the same blocks follow each other, so that their weights are still in the caches. */
static inline gops_item gops_find_item(const gops_items *parts, const gops_items *all,
                                       int64_t index)
{
    const int64_t block = index / parts->panels, group = block / parts->blocks;
    return (gops_item){.image = group / parts->groups,
                       .groups = gops_part(all->groups, parts->groups, group % parts->groups),
                       .blocks = gops_part(all->blocks, parts->blocks, block % parts->blocks),
                       .panels = gops_part(all->panels, parts->panels, index % parts->panels)};
}

#endif
