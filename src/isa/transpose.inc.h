/* Wants LANES, NAME(symbol), NAME(vector), UNROLL, and LOW and HIGH: the indices that interleave
 * the lower and the upper halves of two vectors. */
/*
 * transpose.inc.h: transposes in registers.
 */

/* Bits of an address change places: element (vector i, lane l) of P vectors moves to vector
 * l / (LANES / P) ..., lane (l % (LANES / P)) * P + i; interleaving vectors i and i + P / 2 for all
 * i rotates the address by one bit, and this log2(P) times. So vector v holds P values each of
 * channels v * LANES / P and those that follow. */
static inline __attribute__((always_inline)) void NAME(turn)(NAME(vector) * rows, const int p)
{
    NAME(vector) next[LANES];
    UNROLL for (int bits = 1; bits < p; bits *= 2)
    {
        UNROLL for (int i = 0; i < p / 2; i++)
        {
            next[2 * i] = __builtin_shufflevector(rows[i], rows[i + p / 2], LOW);
            next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + p / 2], HIGH);
        }
        UNROLL for (int i = 0; i < p; i++)
        {
            rows[i] = next[i];
        }
    }
}
