/* forest_encode.c - trees as trees of first children and next siblings, and back (phloem.h
 * section 5).
 *
 * A node of an encoded tree has at most two children: the first child of the node, then its next
 * sibling, so that the nodes of a tree keep their order.  The slots say how many slots are empty
 * before each:
 *
 *   first child   1 + 2 * empty            always odd
 *   next sibling  2 + 2 * empty            of a node without children: always even
 *                 that of the first child + 1 + 2 * empty    otherwise: an odd step further
 *
 * What a node is encoded as depends on its subtree and on what follows it in its parent.  So there
 * is one encoded subtree for each link of a distinct subtree, and trees are not taken apart into
 * nodes.
 *
 * Contents: slots, encoding, decoding, both as calls.
 */
#include "base/memory.h"
#include "forest/copy.h"

static const uint32_t NOTHING = UINT32_MAX;

struct encoding {
    phl_copy copy;
    const phl_forest *forest;
    uint32_t
        *number;     /* [n] encoding: of the first child; decoding: of the node with its children */
    phl_link *links; /* of one node */
    size_t capacity;
};

/* ---------------------------------------------------------------------------------------------
 * Slots
 * ------------------------------------------------------------------------------------------- */

static phl_status too_large(uint64_t slot, phl_error *error)
{
    return slot <= UINT32_MAX ? PHL_OK
                              : phl_raise(error, PHL_ERR_EXPRESS, NULL,
                                          "a node has too many empty slots for this encoding");
}

/* Of the first child. */
static uint64_t encoded_first(const phl_link *links)
{
    return 1 + 2 * ((uint64_t)links[0].slot - 1);
}

/* Of the child number i of a node, in the encoded node that holds it. */
static uint64_t encoded_slot(const phl_forest *forest, const phl_link *links, size_t i)
{
    if (i == 0) {
        return encoded_first(links);
    }
    const phl_link *own = NULL, *before = &links[i - 1];
    size_t n = phl_subtree_links(forest, before->child, &own);
    uint64_t first = n == 0 ? 1 : encoded_first(own);
    return first + 1 + 2 * ((uint64_t)links[i].slot - before->slot - 1);
}

/* What an encoded node says: its first child and next sibling, NOTHING if there is none, and the
 * empty slots before them. */
struct pair {
    uint32_t child, sibling;
    uint32_t before_child, before_sibling;
};

/* False: no tree is encoded like this. */
static bool read_pair(const phl_forest *forest, uint32_t subtree, struct pair *pair)
{
    const phl_link *links = NULL;
    size_t n = phl_subtree_links(forest, subtree, &links);
    uint32_t first = 1;
    *pair = (struct pair){.child = NOTHING, .sibling = NOTHING};
    if (n > 0 && links[0].slot % 2 == 1) {
        first = links[0].slot;
        pair->child = links[0].child;
        pair->before_child = (first - 1) / 2;
        links++;
        n--;
    }
    if (n == 1 && (links[0].slot - first) % 2 == 1) {
        pair->sibling = links[0].child;
        pair->before_sibling = (links[0].slot - first - 1) / 2;
        n--;
    }
    return n == 0;
}

/* ---------------------------------------------------------------------------------------------
 * Encoding
 * ------------------------------------------------------------------------------------------- */

/* A node, in `slot` of the encoded node that holds it, and what follows it: NOTHING, or a sibling
 * that was encoded, in next_slot. */
static phl_status encode_node(const struct encoding *encoding, uint32_t subtree, uint64_t slot,
                              uint32_t next, uint64_t next_slot, uint32_t *made, phl_error *error)
{
    const phl_forest *forest = encoding->forest;
    const phl_link *own = NULL;
    phl_link links[2];
    size_t n = 0, n_own = phl_subtree_links(forest, subtree, &own);
    if (n_own > 0) {
        links[n++] =
            (phl_link){.slot = (uint32_t)encoded_first(own), .child = encoding->number[subtree]};
    }
    if (next != NOTHING) {
        links[n++] = (phl_link){.slot = (uint32_t)next_slot, .child = next};
    }
    int32_t label = phl_copy_label(&encoding->copy, forest->label[subtree]);
    return phl_builder_intern(encoding->copy.builder, label, n == 0 ? (uint32_t)slot : 0, links, n,
                              made, error);
}

/* The children of a node, from the last to the first. */
static phl_status encode_children(struct encoding *encoding, uint32_t subtree, phl_error *error)
{
    const phl_link *links = NULL;
    size_t n = phl_subtree_links(encoding->forest, subtree, &links);
    uint32_t next = NOTHING;
    uint64_t next_slot = 0;
    phl_status status = PHL_OK;
    for (size_t i = n; status == PHL_OK && i-- > 0;) {
        uint64_t slot = encoded_slot(encoding->forest, links, i);
        status = too_large(slot, error);
        if (status == PHL_OK) {
            status = encode_node(encoding, links[i].child, slot, next, next_slot, &next, error);
        }
        next_slot = slot;
    }
    encoding->number[subtree] = next;
    return status;
}

static phl_status encode_trees(struct encoding *encoding, phl_error *error)
{
    const phl_forest *forest = encoding->forest;
    phl_status status = PHL_OK;
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        status = encode_children(encoding, (uint32_t)s, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        uint32_t root = 0;
        status = encode_node(encoding, forest->tree_root[t], 1, NOTHING, 0, &root, error);
        if (status == PHL_OK) {
            status = phl_copy_enter(&encoding->copy, t, root, error);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Decoding
 * ------------------------------------------------------------------------------------------- */

/* The first tree that is no encoding is an error. */
static phl_status check_trees(const phl_forest *forest, phl_error *error)
{
    bool *bad = phl_alloc_zero(forest->n_subtrees, sizeof *bad, error);
    if (bad == NULL) {
        return PHL_ERR_MEMORY;
    }
    struct pair pair;
    for (size_t s = 0; s < forest->n_subtrees; s++) {
        bad[s] = !read_pair(forest, (uint32_t)s, &pair) ||
                 (pair.child != NOTHING && bad[pair.child]) ||
                 (pair.sibling != NOTHING && bad[pair.sibling]);
    }
    phl_status status = PHL_OK;
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        uint32_t root = forest->tree_root[t];
        phl_position position = {phl_tree_file(forest, t), phl_tree_line(forest, t), 0};
        bool sibling = !bad[root] && read_pair(forest, root, &pair) && pair.sibling != NOTHING;
        if (bad[root] || sibling) {
            status =
                phl_raise_at(error, PHL_ERR_EXPRESS, position, NULL,
                             "tree %zu is no tree of first children and next siblings: %s", t,
                             sibling ? "its root has a sibling"
                                     : "a node has more than a first child and a next sibling");
        }
    }
    phl_free(bad);
    return status;
}

static phl_status decode_leaf(const struct encoding *encoding, uint32_t subtree, uint32_t slot,
                              uint32_t *made, phl_error *error)
{
    int32_t label = phl_copy_label(&encoding->copy, encoding->forest->label[subtree]);
    return phl_builder_intern(encoding->copy.builder, label, slot, NULL, 0, made, error);
}

/* One more child into links[n]: the encoded node `subtree`. */
static phl_status decode_child(struct encoding *encoding, uint32_t subtree, uint64_t slot, size_t n,
                               phl_error *error)
{
    phl_status status = too_large(slot, error);
    if (status == PHL_OK) {
        status =
            phl_grow(&encoding->links, &encoding->capacity, n + 1, sizeof *encoding->links, error);
    }
    if (status != PHL_OK) {
        return status;
    }
    phl_link *link = &encoding->links[n];
    *link = (phl_link){.slot = (uint32_t)slot, .child = encoding->number[subtree]};
    return link->child == NOTHING ? decode_leaf(encoding, subtree, link->slot, &link->child, error)
                                  : PHL_OK;
}

/* A node with its children, which are its first child and the siblings after that. */
static phl_status decode_node(struct encoding *encoding, uint32_t subtree, phl_error *error)
{
    const phl_forest *forest = encoding->forest;
    struct pair pair;
    encoding->number[subtree] = NOTHING;
    (void)read_pair(forest, subtree, &pair);
    if (pair.child == NOTHING) {
        return PHL_OK;
    }
    uint64_t slot = 1 + (uint64_t)pair.before_child;
    uint32_t child = pair.child;
    phl_status status = PHL_OK;
    size_t n = 0;
    while (status == PHL_OK && child != NOTHING) {
        status = decode_child(encoding, child, slot, n++, error);
        (void)read_pair(forest, child, &pair);
        child = pair.sibling;
        slot += 1 + (uint64_t)pair.before_sibling;
    }
    if (status == PHL_OK) {
        int32_t label = phl_copy_label(&encoding->copy, forest->label[subtree]);
        status = phl_builder_intern(encoding->copy.builder, label, 0, encoding->links, n,
                                    &encoding->number[subtree], error);
    }
    return status;
}

static phl_status decode_trees(struct encoding *encoding, phl_error *error)
{
    const phl_forest *forest = encoding->forest;
    phl_status status = check_trees(forest, error);
    for (size_t s = 0; status == PHL_OK && s < forest->n_subtrees; s++) {
        status = decode_node(encoding, (uint32_t)s, error);
    }
    for (size_t t = 0; status == PHL_OK && t < forest->n_trees; t++) {
        uint32_t root = encoding->number[forest->tree_root[t]];
        if (root == NOTHING) {
            status = decode_leaf(encoding, forest->tree_root[t], 1, &root, error);
        }
        if (status == PHL_OK) {
            status = phl_copy_enter(&encoding->copy, t, root, error);
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------
 * Both as calls
 * ------------------------------------------------------------------------------------------- */

static phl_status make(const phl_forest *forest, phl_encoding name, bool back, phl_forest **made,
                       phl_error *error)
{
    if (name != PHL_ENCODING_FIRST_CHILD) {
        return phl_raise(error, PHL_ERR_ARGUMENT, NULL, "there is no encoding %d", (int)name);
    }
    struct encoding encoding = {.forest = forest};
    encoding.number = phl_alloc(forest->n_subtrees, sizeof *encoding.number, error);
    phl_status status = encoding.number == NULL
                            ? PHL_ERR_MEMORY
                            : phl_copy_begin_nodes(&encoding.copy, forest, error);
    if (status == PHL_OK) {
        status = back ? decode_trees(&encoding, error) : encode_trees(&encoding, error);
    }
    if (status == PHL_OK) {
        status = phl_copy_finish(&encoding.copy, made, error);
    }
    phl_copy_clear(&encoding.copy);
    phl_free(encoding.links);
    phl_free(encoding.number);
    return status;
}

phl_status phl_forest_encode(const phl_forest *forest, phl_encoding encoding, phl_forest **encoded,
                             phl_error *error)
{
    return make(forest, encoding, false, encoded, error);
}

phl_status phl_forest_decode(const phl_forest *forest, phl_encoding encoding, phl_forest **decoded,
                             phl_error *error)
{
    return make(forest, encoding, true, decoded, error);
}
