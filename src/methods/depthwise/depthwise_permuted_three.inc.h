/*
 * depthwise_permuted_three.inc.h: codes of kernels of 3 rows, one quad each, with stride 1, for
 * rolling of depthwise_permuted_rolling.inc.h.
 *
 * All groups of R rows take four permutations. Those of the next group are computed while this
 * one's products are, and the codes of the group before it: what an instruction waits for is mostly
 * there when it is fetched, so that more of them fit into what the processor looks ahead.
 */

/* The quads of a group's data: row r of the tile's vector v is number r * NV + v. */
GOPS_INLINE void three_quads(rolling_work *w, const setting *at, bytes *quads, const int NV,
                             const int JR, const int PER)
{
    const int R = 4 / NV;
    bytes data[4] = {0};
    GOPS_UNROLL
    for (int r = 0; r < R; r++) {
        if (JR == 1) {
            GOPS_UNROLL
            for (int u = 0; u < NV / PER; u++) {
                data[u] = load_row(at, w, u);
            }
            w->from += w->width;
            w->y++;
        } else if (r % JR == 0) {
            data[0] = load_bytes(at, w->from, *w->masks++);
            w->from += JR * w->width;
        }
        GOPS_UNROLL
        for (int v = 0; v < NV; v++) {
            quads[r * NV + v] =
                _mm512_permutexvar_epi8(w->index[r % JR * PER + v % PER], data[v / PER]);
        }
    }
}

GOPS_INLINE void store_three(const setting *at, const pending *group, const bytes *numbers)
{
    const bytes codes = _mm512_permutexvar_epi8(at->order, pack_codes(at, numbers));
    _mm512_mask_storeu_epi8(group->output, group->mask, codes);
}

/* `older` and `newer` are the sums of the rows of outputs that have two rows of taps, and one. */
GOPS_INLINE void three_step(rolling_work *w, const setting *at, bytes *older, bytes *newer,
                            bytes *quads, pending *group, const int NV, const int JR, const int PER)
{
    const int R = 4 / NV;
    bytes numbers[4];
    round_pending(group, numbers);
    GOPS_UNROLL
    for (int i = 0; i < 4; i++) {
        const int v = i % NV;
        group->sums[i] = add_products(older[v], quads[i], w->weight[2]);
        older[v] = add_products(newer[v], quads[i], w->weight[1]);
        newer[v] = add_products(w->start, quads[i], w->weight[0]);
    }
    three_quads(w, at, quads, NV, JR, PER);
    store_three(at, group, numbers);
    group->scale = w->scale;
    group->output = w->output;
    group->mask = R > 1 && w->left < R ? first_bits(w->left * w->columns) : w->stored;
    w->output += w->output_step;
    w->left -= R;
}

/* The first two rows of data, then all groups. The registers of sums rotate, and are where they were
 * after as many steps as the loop has. */
GOPS_INLINE void three_tile(rolling_work *w, const setting *at, pending *group, const int NV,
                            const int JR, const int PER)
{
    bytes older[4], newer[4], quads[4], data[4] = {0};
    GOPS_UNROLL
    for (int row = 0; row < 2; row++) {
        GOPS_UNROLL
        for (int u = 0; u < NV / PER; u++) {
            data[u] = load_row(at, w, u);
        }
        w->from += w->width;
        w->y++;
        GOPS_UNROLL
        for (int v = 0; v < NV; v++) {
            const bytes quad = _mm512_permutexvar_epi8(w->index[v % PER], data[v / PER]);
            older[v] = add_products(row == 0 ? w->start : newer[v], quad, w->weight[row]);
            const bytes next = add_products(w->start, quad, w->weight[0]);
            newer[v] = row == 0 ? older[v] : next;
        }
    }
    three_quads(w, at, quads, NV, JR, PER);
    for (;;) {
        three_step(w, at, older, newer, quads, group, NV, JR, PER);
        if (w->left <= 0) {
            break;
        }
        three_step(w, at, older, newer, quads, group, NV, JR, PER);
        if (w->left <= 0) {
            break;
        }
        if (NV != 2) {
            three_step(w, at, older, newer, quads, group, NV, JR, PER);
            if (w->left <= 0) {
                break;
            }
        }
    }
}
