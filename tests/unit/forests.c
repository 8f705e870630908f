/* forests.c - forests made from text or by the generators; see forests.h. */
#include "forests.h"

#include <string.h>

#include "check.h"
#include "must.h"

phl_read_options read_options(phl_format format)
{
    phl_read_options options;
    phl_read_options_init(&options);
    options.format = format;
    return options;
}

phl_write_options write_options(phl_format format)
{
    phl_write_options options;
    phl_write_options_init(&options);
    options.format = format;
    return options;
}

phl_train_options train_options(phl_kind kind, uint32_t states, size_t iterations)
{
    phl_train_options options;
    phl_train_options_init(&options);
    options.kind = kind;
    options.states = states;
    options.iterations = iterations;
    options.threads = 1;
    return options;
}

phl_forest *read_text(const phl_read_options *options, const char *text, size_t size)
{
    phl_forest *forest = NULL;
    phl_error error = {0};
    if (phl_forest_read_memory(text, size, "test", options, &forest, NULL, &error) != PHL_OK) {
        char line[2048];
        print_error("%s\nin: %.200s\n", phl_error_format(&error, line, sizeof line), text);
        fail();
    }
    return forest;
}

phl_forest *forest_of(phl_format format, const char *text)
{
    phl_read_options options = read_options(format);
    return read_text(&options, text, strlen(text));
}

phl_forest *trees(const char *text)
{
    return forest_of(PHL_FORMAT_BRACKETS, text);
}

char *write_text(const phl_forest *forest, phl_write_options options)
{
    char *text = NULL;
    size_t size = 0;
    must(phl_forest_write_memory(forest, &options, &text, &size, error));
    char *copy = test_malloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    phl_free(text);
    return copy;
}

phl_forest *symm_forest(uint64_t seed, size_t trees_per_class)
{
    phl_symm_options options;
    phl_symm_options_init(&options);
    options.seed = seed;
    options.trees_per_class = trees_per_class;
    phl_forest *forest = NULL;
    must(phl_generate_symm(&options, &forest, error));
    return forest;
}

phl_forest *document_forest(uint64_t seed, size_t trees_per_class)
{
    phl_documents_options options;
    phl_documents_options_init(&options);
    options.seed = seed;
    options.trees_per_class = trees_per_class;
    phl_forest *forest = NULL;
    must(phl_generate_documents(&options, &forest, error));
    return forest;
}

phl_forest *unshared_copy(const phl_forest *forest)
{
    char *text = write_text(forest, write_options(PHL_FORMAT_JSON));
    phl_read_options options = read_options(PHL_FORMAT_JSON);
    options.no_sharing = true;
    phl_forest *copy = read_text(&options, text, strlen(text));
    test_free(text);
    return copy;
}
