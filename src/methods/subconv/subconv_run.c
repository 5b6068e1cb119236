/* subconv_run.c: one work item of the transposed convolution by phases. */
#include "methods/subconv/subconv_deconv.h"

#include "base/checked.h"

static int64_t *list_at(const gops_subconv_piece *at, int64_t from)
{
    return (int64_t *)(void *)(at->workspace + from);
}

static gops_subconv_product *products_at(const gops_subconv_piece *at)
{
    return (gops_subconv_product *)(void *)(at->workspace +
                                            gops_subconv_read(at->plan)->products_from);
}

/* Where each phase's sums will be, and every product and its offsets, one after the other. */
static void fill_tables(const gops_subconv_piece *at)
{
    const gops_subconv_parameters *p = gops_subconv_read(at->plan);
    const gops_conv_geometry *conv = &at->plan->conv;
    const gops_subconv_view *view = &at->view;
    gops_subconv_row *table = (gops_subconv_row *)(void *)(at->workspace + p->table_from);
    gops_subconv_product *product = products_at(at);
    int64_t *offsets = list_at(at, p->implicit.offsets_from);
    const int64_t plane = p->implicit.in_place ? conv->data_pixels : p->implicit.frame.plane;
    gops_subconvs phases;
    int64_t row = 0;
    gops_subconv_first(view, &phases);
    do {
        for (int64_t i = 0; i < phases.count; i++) {
            int64_t index = 0, rest = i, step = 1;
            for (int a = view->axes - 1; a >= 0; a--) {
                const gops_subconv_axis *axis = &phases.axis[a];
                index += (axis->begin + rest % axis->count) * step;
                rest /= axis->count;
                step *= view->side[a].stride;
            }
            table[index] = (gops_subconv_row){phases.taps > 0 ? row + i : -1, phases.count};
        }
        if (phases.taps > 0) {
            row += p->span * phases.count;
            *product = (gops_subconv_product){phases.count, conv->channels_in * phases.taps};
            gops_subconv_offsets(view, &phases, p->implicit.pitch, plane, conv->channels_in,
                                 offsets);
            offsets += product++->depth;
        }
    } while (gops_subconv_next(view, &phases));
}

/* A product's sums over the pass's spots, to rows `row` on, of channels from `channel` on, each
 * with `count` phases. Returns the weights that follow. */
static const unsigned char *multiply(const gops_subconv_piece *at, gops_implicit_pass *pass,
                                     int64_t row, int64_t channel, int64_t channels, int64_t count,
                                     const unsigned char *weights)
{
    const gops_subconv_parameters *p = gops_subconv_read(at->plan);
    const gops_tiles *tiles = at->plan->kernels->implicit->tiles[at->plan->type->compute];
    const int64_t ld = at->sums_ld;
    unsigned char *sums = at->workspace + p->implicit.sums_from + row * ld * pass->bytes;
    gops_epilogue_values bias;
    for (int64_t c = 0; c < channels * count; c += pass->width) {
        const int64_t left = channels * count - c;
        pass->width = gops_implicit_width(pass->tiles, p->implicit.pixels, p->implicit.tile, left);
        if (at->trim != NULL) {
            gops_epilogue_bias_rows(at->plan, at->whole, channel, count, c,
                                    gops_min(pass->width, left), pass->width, &bias);
            pass->bounds = &at->trim->bounds;
            pass->bias = &bias;
        }
        pass->weights = weights;
        weights += pass->width * pass->depth * pass->bytes;
        if (p->implicit.pixels || p->single) {
            pass->sums = sums + c * ld * pass->bytes;
            pass->sums_ld = ld;
            gops_implicit_multiply(pass);
        } else {
            pass->sums = at->workspace + p->block_from;
            pass->sums_ld = 0; /* for the pixels form only */
            gops_implicit_multiply(pass);
            tiles->transpose(sums + c * ld * pass->bytes, ld, pass->sums, p->implicit.tile,
                             gops_min(pass->width, left), pass->count);
        }
    }
    return weights;
}

static void run_piece(const gops_subconv_piece *at, gops_implicit_pass *pass)
{
    const gops_plan *plan = at->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    const int64_t spots = at->segments.spots * at->segments.count;
    int64_t *list = list_at(at, p->implicit.spots_from);
    int64_t *places = list_at(at, p->implicit.places_from);
    pass->spots = list;
    pass->places = places;
    for (int64_t first = 0; first < spots; first += p->implicit.chunk) {
        pass->count = gops_min(p->implicit.chunk, spots - first);
        gops_implicit_list_spots(
            &p->implicit, conv->axes, &at->segments, &at->box, first, pass->count, 0,
            p->implicit.pixels ? at->segments.step : p->implicit.tile, list, places);
        const unsigned char *weights = at->filter;
        for (int64_t c = 0; c < at->channels; c += p->span) {
            const int64_t channels = gops_min(p->span, at->channels - c);
            const gops_subconv_product *product = products_at(at);
            int64_t row = 0;
            pass->offsets = list_at(at, p->implicit.offsets_from);
            for (int64_t i = 0; i < p->products; i++, product++) {
                pass->depth = product->depth;
                weights =
                    multiply(at, pass, row, at->channel + c, channels, product->count, weights);
                row += p->span * product->count;
                pass->offsets += pass->depth;
            }
            gops_subconv_store(at, first, pass->count, c, channels);
        }
    }
}

/* Finds the box's data: where it lies, or copied. */
static const void *find_frame(const gops_subconv_piece *at, const unsigned char *data)
{
    const gops_plan *plan = at->plan;
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_conv_geometry *conv = &plan->conv;
    int64_t origin[GOPS_MAX_SPATIAL], start = 0;
    for (int a = 0; a < conv->axes; a++) {
        origin[a] = at->box.begin[a] - at->view.side[a].most;
        start += at->box.begin[a] * p->implicit.pitch[a];
    }
    if (p->implicit.in_place) {
        return data + start * plan->type->bytes;
    }
    plan->kernels->implicit->padded_input[plan->type->index](
        &p->implicit.frame, origin, conv->channels_in, data, at->workspace);
    return at->workspace;
}

void gops_subconv_run(const gops_plan *plan, const gops_job *job, int64_t item, void *workspace)
{
    const gops_subconv_parameters *p = gops_subconv_read(plan);
    const gops_implicit *implicit = &p->implicit;
    const gops_conv_geometry *conv = &plan->conv;
    const gops_tiles *tiles = plan->kernels->implicit->tiles[plan->type->compute];
    const int64_t bytes = gops_compute_bytes(plan->type->compute);
    const int64_t image_group = item / implicit->bands / implicit->parts;
    const int64_t channel = item / implicit->bands % implicit->parts * implicit->part;
    const int64_t group = image_group % conv->groups;
    const gops_epilogue trim = gops_epilogue_read(plan, job, GOPS_EPILOGUE_NO_RESIDUAL);
    gops_subconv_piece at = {
        .plan = plan,
        .job = job,
        .whole = job,
        .channel = group * conv->channels_out + channel,
        .element = (image_group * conv->channels_out + channel) * conv->output_pixels,
        .channels = gops_min(implicit->part, conv->channels_out - channel),
        .workspace = workspace,
    };
    gops_implicit_axis axis[GOPS_MAX_SPATIAL];
    gops_subconv_look(conv, p->form, &at.view);
    at.filter =
        (const unsigned char *)job->filter +
        (group * gops_subconv_group_weights(plan, &at.view) + channel / p->span * p->weights) *
            bytes;
    gops_subconv_axes(&at.view, axis);
    gops_implicit_band(implicit, conv->axes, axis, item % implicit->bands, &at.box);
    at.segments = gops_implicit_segments(implicit, conv->axes, tiles->lanes, &at.box);
    at.sums_ld = p->single ? 1 : implicit->chunk * at.segments.step;
    fill_tables(&at);
    /* The tiles see no phase without taps; its outputs are made when they are stored. */
    if (trim.applies && p->rows == p->span * gops_subconv_count(&at.view)) {
        at.job = &trim.rest;
        at.trim = &trim;
    }
    gops_implicit_pass pass = {
        .tiles = gops_implicit_tiles(implicit, tiles),
        .frame = find_frame(&at, gops_data_at(plan, job, image_group / conv->groups,
                                              image_group * conv->channels_in * conv->data_pixels)),
        .depth_block = implicit->depth_block,
        /* Weights that come from beyond the caches lie in the order in which they are read, and the
         * processor fetches them ahead: asking for them cost DCGAN's 512 to 256 a tenth more. */
        .streams = 0,
        .bytes = bytes,
    };
    run_piece(&at, &pass);
}
