/* json.h - inside the reader of the json format.
 *
 * json_read.c goes over a line once and puts its three arrays into arrays of numbers that are used
 * again for every tree; json_nodes.c makes a tree of them; json_scan.c knows tokens.
 */
#ifndef PHL_FORMAT_JSON_H
#define PHL_FORMAT_JSON_H

#include "format/json_scan.h"

/* The keys of an object; arrays come first, they number the columns. */
enum phl_json_key {
    PHL_JSON_LABEL,
    PHL_JSON_PARENT,
    PHL_JSON_SLOT,
    PHL_JSON_ID,
    PHL_JSON_CLASS,
    PHL_JSON_WEIGHT,
    PHL_JSON_KEYS
};
enum { PHL_JSON_COLUMNS = PHL_JSON_SLOT + 1 };

/* Parents that are no node. */
#define PHL_JSON_NO_PARENT UINT32_MAX        /* -1: the root's */
#define PHL_JSON_BAD_PARENT (UINT32_MAX - 1) /* out of any range */

typedef struct phl_json_column {
    uint32_t *values; /* labels: int32_t put in as they are */
    size_t n, capacity;
} phl_json_column;

typedef struct phl_json_parse {
    phl_reader *reader;
    phl_json_line line;
    uint64_t max_nodes, max_slot; /* caps */
    phl_text text;                /* the key or label with escapes decoded last */

    /* Of the tree at hand. */
    const char *value[PHL_JSON_KEYS]; /* where the value of each key begins; NULL: not there */
    phl_json_column columns[PHL_JSON_COLUMNS];
    phl_text class_text, id_text;
    phl_span class_name, id;
    double weight;
    uint32_t *first; /* [n + 2] first child of each node in `order` */
    uint32_t *order; /* [n] children by parent */
    uint32_t *stack; /* [n] nodes open */
    size_t first_capacity, order_capacity, stack_capacity;
} phl_json_parse;

/* The reading half of the driver; the state is a phl_json_parse. */
void phl_json_read_open(phl_reader *reader);
phl_status phl_json_read(phl_reader *reader, phl_error *error);
void phl_json_read_close(phl_reader *reader);

/* Hand the nodes in the columns (of one length, at least 1) to the builder. */
phl_status phl_json_nodes(phl_json_parse *parse, phl_error *error);

/* An entry of `parent` or `slot` is not in its range: its digits as they stand there, and what was
 * expected. */
phl_status phl_json_nodes_out_of_range(const phl_json_parse *parse, enum phl_json_key key,
                                       size_t node, const char *expected, phl_error *error);

#endif
