/* difference.c: distances between elements, in units in the last place. */
#include "npy/difference.h"

#include "npy/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef enum element_kind { FLOATING, SIGNED, UNSIGNED } element_kind;

typedef struct element_form {
    element_kind kind;
    int fraction_bits; /* of floats, stored */
    bool finite;       /* no infinities: all exponents but those of NaN are numbers */
    int digits;        /* decimals that tell every value from its neighbours */
} element_form;

static const element_form forms[] = {
    [GOPS_F64] = {FLOATING, 52, false, 17}, [GOPS_F32] = {FLOATING, 23, false, 9},
    [GOPS_F16] = {FLOATING, 10, false, 5},  [GOPS_BF16] = {FLOATING, 7, false, 4},
    [GOPS_F8E4M3] = {FLOATING, 3, true, 3}, [GOPS_F8E5M2] = {FLOATING, 2, false, 3},
    [GOPS_I8] = {SIGNED, 0, false, 0},      [GOPS_I16] = {SIGNED, 0, false, 0},
    [GOPS_I32] = {SIGNED, 0, false, 0},     [GOPS_I64] = {SIGNED, 0, false, 0},
    [GOPS_U8] = {UNSIGNED, 0, false, 0},    [GOPS_U16] = {UNSIGNED, 0, false, 0},
    [GOPS_U32] = {UNSIGNED, 0, false, 0},   [GOPS_U64] = {UNSIGNED, 0, false, 0},
};

/* An element: its bits, which a signed integer's sign extends to 64. */
typedef struct element {
    uint64_t bits;
    uint64_t magnitude; /* of floats: the bits without the sign */
    bool negative;
    bool nan;
} element;

static uint64_t read_bits(size_t bytes, const void *elements, int64_t index)
{
    const char *at = (const char *)elements + (size_t)index * bytes;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, at, sizeof one);
        return one;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

static element read_element(gops_type type, const void *elements, int64_t index)
{
    const element_form *form = &forms[type];
    const size_t bytes = gops_type_bytes(type);
    const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    element read = {.bits = read_bits(bytes, elements, index)};
    read.negative = form->kind != UNSIGNED && (read.bits & sign) != 0;
    if (form->kind == FLOATING) {
        read.magnitude = read.bits & (sign - 1);
        /* The exponent of ones is that of infinity and NaN; without infinities NaN is all ones. */
        const uint64_t infinity =
            form->finite ? sign - 2 : sign - (UINT64_C(1) << form->fraction_bits);
        read.nan = read.magnitude > infinity;
    } else if (read.negative) {
        read.bits |= ~(sign - 1);
    }
    return read;
}

static double real_value(gops_type type, const void *elements, int64_t index)
{
    return gops_element_load(type, (const char *)elements + (size_t)index * gops_type_bytes(type));
}

static uint64_t count_ulp(const element_form *form, const element *a, const element *b)
{
    if (form->kind == FLOATING) {
        if (a->nan || b->nan) {
            return a->nan && b->nan ? 0 : GOPS_DIFFERENCE_NAN;
        }
        if (a->negative != b->negative) {
            return a->magnitude + b->magnitude;
        }
        return a->magnitude > b->magnitude ? a->magnitude - b->magnitude
                                           : b->magnitude - a->magnitude;
    }
    const bool greater =
        form->kind == SIGNED ? (int64_t)a->bits > (int64_t)b->bits : a->bits > b->bits;
    /* Modulo 2^64, where the bits of a negative number are the larger ones. */
    return greater ? a->bits - b->bits : b->bits - a->bits;
}

/* Among equals the first one comes first. */
static void keep_worst(gops_difference *found, const gops_distance *distance)
{
    int place = found->kept;
    while (place > 0 && found->worst[place - 1].ulp < distance->ulp) {
        place--;
    }
    if (place == GOPS_DIFFERENCE_MAX_WORST) {
        return;
    }
    found->kept += found->kept < GOPS_DIFFERENCE_MAX_WORST;
    for (int i = found->kept - 1; i > place; i--) {
        found->worst[i] = found->worst[i - 1];
    }
    found->worst[place] = *distance;
}

gops_difference gops_difference_find(gops_type type, const void *a, const void *b, int64_t count,
                                     uint64_t max_ulp, double max_difference)
{
    const element_form *form = &forms[type];
    gops_difference found = {.largest = {.index = -1}};
    for (int64_t i = 0; i < count; i++) {
        const element one = read_element(type, a, i);
        const element other = read_element(type, b, i);
        gops_distance distance = {i, count_ulp(form, &one, &other), 0};
        if (distance.ulp == 0) {
            continue;
        }
        /* NaN for a NaN and a number, infinity for an infinity and another number. */
        distance.difference = form->kind != FLOATING
                                  ? (double)distance.ulp
                                  : fabs(real_value(type, a, i) - real_value(type, b, i));
        found.different++;
        found.beyond += distance.ulp > max_ulp && !(distance.difference <= max_difference);
        keep_worst(&found, &distance);
        if (found.largest.index < 0 || distance.difference > found.largest.difference ||
            (isnan(distance.difference) && !isnan(found.largest.difference))) {
            found.largest = distance;
        }
    }
    return found;
}

void gops_element_text(gops_type type, const void *elements, int64_t index, char *text)
{
    const element_form *form = &forms[type];
    const element read = read_element(type, elements, index);
    if (form->kind == FLOATING) {
        snprintf(text, GOPS_ELEMENT_BYTES, "%.*g", form->digits,
                 read.nan ? NAN : real_value(type, elements, index));
    } else if (form->kind == SIGNED) {
        snprintf(text, GOPS_ELEMENT_BYTES, "%" PRId64, (int64_t)read.bits);
    } else {
        snprintf(text, GOPS_ELEMENT_BYTES, "%" PRIu64, read.bits);
    }
}
