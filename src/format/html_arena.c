/* html_arena.c - the memory that gumbo lives in: bounded, and given back at one go.
 *
 * gumbo cannot be told that an allocation failed (it goes on with the null pointer), and a page of
 * a few kilobytes can make it want gigabytes, so an allocation that is refused leaves gumbo by
 * longjmp.  That is safe: it is plain C, holds nothing but memory of this arena, and keeps no state
 * elsewhere.  Giving back node by node, as gumbo does it, would recurse; here chunks are freed.
 *
 * A block is a head of 8 bytes, with the number of its size, and what the caller gets, which is
 * aligned to 16.  Blocks that are given back wait in a list for the next one of their size.
 */
#include <setjmp.h>
#include <string.h>

#include "base/memory.h"
#include "format/html.h"

enum {
    GRAIN = 16,
    FINE_SIZES = 64, /* 16, 32, ... 1,024 bytes with the head; beyond, powers of two */
    SIZES = FINE_SIZES + 64,
    FIRST_CHUNK = 64 << 10,
    LARGEST_CHUNK = 1 << 20,
    CALLS_A_CHECK = 1 << 14, /* allocations between two looks at whether to go on */
    FREE_BYTES = 24 << 20,   /* that any page may use, */
    BYTES_A_BYTE = 72        /* and for each byte of its text; <p><p><p> needs 55 */
};

typedef struct chunk {
    struct chunk *next;
    size_t size;
} chunk;

typedef struct free_block {
    struct free_block *next;
} free_block;

struct phl_html_arena {
    phl_reader *reader;
    phl_error *error;
    jmp_buf out;
    phl_status status; /* why it was left */
    chunk *chunks;
    char *at; /* 8 beyond a multiple of GRAIN: the next head */
    size_t left;
    size_t next_chunk;
    size_t used, limit; /* bytes */
    unsigned calls;
    free_block *given_back[SIZES];
};

static void leave(phl_html_arena *arena, phl_status status)
{
    arena->status = status;
    longjmp(arena->out, 1);
}

static void add_chunk(phl_html_arena *arena, size_t needed)
{
    size_t size = needed + sizeof(chunk) + 2 * GRAIN;
    size = size < arena->next_chunk ? arena->next_chunk : size;
    if (size > arena->limit - arena->used) {
        phl_position place = {arena->reader->file, 0, 0};
        leave(arena, phl_raise_at(arena->error, PHL_ERR_LIMIT, place,
                                  "close the elements, for example with tidy",
                                  "elements that are never closed multiply: the page would take "
                                  "more than %zu MB",
                                  arena->limit >> 20));
    }
    chunk *added = phl_raw_malloc(size);
    if (added == NULL) {
        leave(arena, phl_raise(arena->error, PHL_ERR_MEMORY,
                               "use a machine with more memory, or less data",
                               "not enough memory for the HTML parser"));
        return;
    }
    *added = (chunk){arena->chunks, size};
    arena->chunks = added;
    arena->used += size;
    arena->next_chunk = arena->next_chunk < LARGEST_CHUNK ? 2 * arena->next_chunk : LARGEST_CHUNK;
    uintptr_t first = (uintptr_t)(added + 1);
    size_t skip = (size_t)((GRAIN - first % GRAIN) % GRAIN) + GRAIN / 2;
    arena->at = (char *)(added + 1) + skip;
    arena->left = size - sizeof *added - skip;
}

/* Number of the size that holds `bytes`, and that size. */
static size_t size_number(size_t bytes, size_t *size)
{
    if (bytes <= FINE_SIZES * GRAIN) {
        *size = (bytes + GRAIN - 1) / GRAIN * GRAIN;
        return *size / GRAIN - 1;
    }
    size_t number = FINE_SIZES;
    for (*size = FINE_SIZES * GRAIN; *size < bytes && *size <= SIZE_MAX / 4; *size *= 2) {
        number++;
    }
    return number;
}

static void *take(void *context, size_t bytes)
{
    phl_html_arena *arena = context;
    if (++arena->calls % CALLS_A_CHECK == 0) {
        phl_status status = phl_reader_check_cancel(arena->reader, arena->error);
        if (status != PHL_OK) {
            leave(arena, status);
        }
    }
    size_t size;
    size_t number = size_number(bytes + sizeof(uint64_t), &size);
    free_block *found = arena->given_back[number];
    if (found != NULL) {
        arena->given_back[number] = found->next;
        return found;
    }
    if (size > arena->left) {
        add_chunk(arena, size);
    }
    uint64_t head = number;
    memcpy(arena->at, &head, sizeof head);
    void *memory = arena->at + sizeof head;
    arena->at += size;
    arena->left -= size;
    return memory;
}

static void give_back(void *context, void *memory)
{
    phl_html_arena *arena = context;
    if (memory != NULL) {
        uint64_t head;
        memcpy(&head, (char *)memory - sizeof head, sizeof head);
        free_block *block = memory;
        block->next = arena->given_back[head];
        arena->given_back[head] = block;
    }
}

/* In a function of its own: nothing that it holds changes between setjmp and longjmp. */
static const GumboOutput *parse(phl_html_arena *arena, const GumboOptions *options,
                                const char *text, size_t length)
{
    if (setjmp(arena->out) != 0) {
        return NULL;
    }
    return gumbo_parse_with_options(options, text, length);
}

phl_status phl_html_arena_parse(phl_reader *reader, const char *text, size_t length,
                                phl_html_arena **arena, const GumboOutput **output,
                                phl_error *error)
{
    phl_html_arena *made = phl_alloc_zero(1, sizeof *made, error);
    *arena = made;
    if (made == NULL) {
        return PHL_ERR_MEMORY;
    }
    made->reader = reader;
    made->error = error;
    made->next_chunk = FIRST_CHUNK;
    made->limit = FREE_BYTES + phl_times(length, BYTES_A_BYTE);
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = take;
    options.deallocator = give_back;
    options.userdata = made;
    options.tab_stop = 1;
    options.max_errors = 0;
    *output = parse(made, &options, text, length);
    return made->status;
}

void phl_html_arena_free(phl_html_arena *arena)
{
    while (arena != NULL && arena->chunks != NULL) {
        chunk *next = arena->chunks->next;
        phl_free(arena->chunks);
        arena->chunks = next;
    }
    phl_free(arena);
}
