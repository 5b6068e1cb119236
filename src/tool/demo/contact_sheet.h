/* contact_sheet.h: the picture that the demo writes: four labelled panels,
 *
 *     original         subbands
 *     reconstruction   difference
 *
 * The subbands are nested as usual: each level's HL at the right, LH below, HH in the corner, and
 * the next level in place of its LL. */
#ifndef GOPS_DEMO_CONTACT_SHEET_H
#define GOPS_DEMO_CONTACT_SHEET_H

#include "png/picture.h"

/* Pixels between panels and around them, and the height of a panel's label. */
#define GOPS_SHEET_MARGIN 16
#define GOPS_SHEET_LABEL 24
/* The space for a panel is never narrower, so that labels fit. */
#define GOPS_SHEET_MIN_PANEL 320
#define GOPS_SHEET_MAX_LEVELS 2

/* 8-bit RGB, row by row. A struct of zeros is empty and may be released. */
typedef struct gops_sheet {
    int64_t width;
    int64_t height;
    unsigned char *rgb;
} gops_sheet;

/* What there is to show. Colours (channels of the picture): 1 or 3. */
typedef struct gops_sheet_content {
    const gops_planes *original;
    const gops_planes *reconstruction;
    int levels;
    const gops_planes *bands[GOPS_SHEET_MAX_LEVELS]; /* finest level first; normalized */
    /* In dB, for the label; also chooses how much to amplify the difference. */
    double psnr;
} gops_sheet_content;

/* Draws it. A small picture is enlarged by a whole number. GOPS_OUT_OF_MEMORY. */
gops_status gops_sheet_create(const gops_sheet_content *content, gops_sheet *sheet,
                              gops_error *error);

void gops_sheet_release(gops_sheet *sheet);

/* Writes capital letters, digits and some signs with their upper left corner at (x, y), cut off at
 * the edges of the sheet. */
void gops_sheet_text(gops_sheet *sheet, int64_t x, int64_t y, int64_t scale, const char *text);

/* How wide and high that is. */
int64_t gops_sheet_text_width(int64_t scale, const char *text);
int64_t gops_sheet_text_height(int64_t scale);

#endif
