/* confusions.c - confusion matrices; see confusions.h. */
#include "print/confusions.h"
#include "print/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct numbered_name {
    const char *name;
    size_t index;
} numbered_name;

static int compare_names(const void *a, const void *b)
{
    const numbered_name *left = a, *right = b;
    return text_compare_natural(left->name, right->name);
}

void confusion_copy(confusion *made, char *const *names, const uint64_t *counts, size_t n)
{
    numbered_name *order = terminal_allocate(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = (numbered_name){names[i], i};
    }
    qsort(order, n, sizeof *order, compare_names);
    *made = (confusion){.n = n};
    made->names = terminal_allocate(n, sizeof *made->names);
    made->counts = terminal_allocate(n * n, sizeof *made->counts);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(order[i].name) + 1;
        made->names[i] = terminal_allocate(length, 1);
        memcpy(made->names[i], order[i].name, length);
        for (size_t j = 0; j < n; j++) {
            made->counts[i * n + j] = counts[order[i].index * n + order[j].index];
        }
    }
    free(order);
}

void confusion_clear(confusion *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->names[i]);
    }
    free(c->names);
    free(c->counts);
    *c = (confusion){0};
}

size_t confusion_find(const confusion *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

uint64_t confusion_row_sum(const confusion *c, size_t row)
{
    uint64_t sum = 0;
    for (size_t j = 0; j < c->n; j++) {
        sum += c->counts[row * c->n + j];
    }
    return sum;
}

double confusion_accuracy(const confusion *c, size_t name)
{
    uint64_t right = 0, all = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (name == SIZE_MAX || name == i) {
            right += c->counts[i * c->n + i];
            all += confusion_row_sum(c, i);
        }
    }
    return all ? (double)right / (double)all : NAN;
}

double confusion_entropy(const confusion *c, size_t name)
{
    double sum = 0, all = 0;
    for (size_t j = 0; j < c->n; j++) {
        double predicted = 0, bits = 0;
        for (size_t i = 0; i < c->n; i++) {
            predicted += (double)c->counts[i * c->n + j];
        }
        for (size_t i = 0; i < c->n; i++) {
            double p = (double)c->counts[i * c->n + j] / predicted;
            bits -= p > 0 && p < 1 ? p * log2(p) : 0;
        }
        if (name == SIZE_MAX || name == j) {
            sum += predicted * bits;
            all += predicted;
        }
    }
    return all > 0 ? sum / all : NAN;
}
