// Fused operations of training on a processor: each reads and writes its tensors once, where separate operations would
// do so five to ten times. Matrices are row by row, (rows, width); `number` is what products are computed in, float or
// bfloat16; all sums are float. Rows are dealt out to threads in equal parts, and what is summed over rows is summed
// thread by thread in their order, so equal numbers of threads give equal bits. Dropout draws a mask from (seed, place)
// and draws it again on the way back.

#include "attention.h"
#include "rows.h"

#define NUMBERS(name, number)                                                                                          \
    extern "C" void residual_forward_##name(const float *x, const void *y, const float *bias, uint64_t seed, float p,  \
                                            const float *gain, const float *shift, float epsilon, float *sum,          \
                                            float *mean, float *rate, float *normed, void *rounded, Count rows,        \
                                            Count width) {                                                             \
        Residual<number>::forward(x, (const number *)y, bias, seed, p, gain, shift, epsilon, sum, mean, rate, normed,  \
                                  (number *)rounded, rows, width);                                                     \
    }                                                                                                                  \
    extern "C" void residual_backward_##name(                                                                          \
        const float *by_sum, const float *by_normed, const void *by_rounded, const float *sum, const float *mean,      \
        const float *rate, const float *gain, uint64_t seed, float p, float *by_x, void *by_y, float *sums,            \
        Count rows, Count width) {                                                                                     \
        Residual<number>::backward(by_sum, by_normed, (const number *)by_rounded, sum, mean, rate, gain, seed, p,      \
                                   by_x, (number *)by_y, sums, rows, width);                                           \
    }                                                                                                                  \
    extern "C" void relu_forward_##name(void *x, const float *bias, uint64_t seed, float p, Count rows, Count width) { \
        Relu<number>::forward((number *)x, bias, seed, p, rows, width);                                                \
    }                                                                                                                  \
    extern "C" void relu_backward_##name(const void *by_y, const void *y, float p, void *by_x, float *by_bias,         \
                                         Count rows, Count width) {                                                    \
        Relu<number>::backward((const number *)by_y, (const number *)y, p, (number *)by_x, by_bias, rows, width);      \
    }                                                                                                                  \
    extern "C" void softmax_loss_##name(void *scores, const Count *targets, float smoothing, int gradient, float *nll, \
                                        float *mean, Count rows, Count width) {                                        \
        Softmax<number>::loss((number *)scores, targets, smoothing, gradient, nll, mean, rows, width);                 \
    }                                                                                                                  \
    extern "C" void attention_forward_##name(const Heads *at, const void *q, const void *k, const void *v,             \
                                             void *out) {                                                              \
        Attention<number>::forward(*at, (const number *)q, (const number *)k, (const number *)v, (number *)out);       \
    }                                                                                                                  \
    extern "C" void attention_backward_##name(const Heads *at, const void *q, const void *k, const void *v,            \
                                              const void *by_out, void *by_q, void *by_k, void *by_v,                  \
                                              float *by_biases) {                                                      \
        Attention<number>::backward(*at, (const number *)q, (const number *)k, (const number *)v,                      \
                                    (const number *)by_out, (number *)by_q, (number *)by_k, (number *)by_v,            \
                                    by_biases);                                                                        \
    }

NUMBERS(float32, float)
NUMBERS(bfloat16, bfloat16)
