/* training_piece.c - the options that choose a piece of a training. */
#include "print/terminal.h"
#include "training.h"

#include <stdlib.h>
#include <string.h>

static const cli_option piece_rows[] = {
    OPTION_STRING_ROW("piece", "I/N",
                      "train piece I of N, counted from 1, of about the same cost; 'phloem merge' "
                      "puts the pieces together",
                      .excludes = "classifier piece-classes piece-chains"),
    OPTION_LIST_ROW("piece-classes", "CLASS,...",
                    "train a piece: these classes of all in the trees; not for grammars",
                    .excludes = "classifier"),
    OPTION_STRING_ROW("piece-chains", "A:B",
                      "train a piece: chains (or random starts) A to B, counted from 1",
                      .excludes = "classifier"),
};
const option_group piece_options = {"Pieces of a training", piece_rows,
                                    sizeof piece_rows / sizeof *piece_rows};

/* Two whole numbers with a mark between them. */
static bool read_two(const char *text, char mark, size_t *first, size_t *second)
{
    char *end;
    *first = *second = 0;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    *first = (size_t)strtoull(text, &end, 10);
    if (*end != mark || end[1] < '0' || end[1] > '9') {
        return false;
    }
    *second = (size_t)strtoull(end + 1, &end, 10);
    return *end == '\0' && *first >= 1 && *first <= *second;
}

int training_piece_read(const cli_arguments *parsed, size_t *piece, size_t *pieces)
{
    const char *text = arguments_string(parsed, "piece");
    return !text || read_two(text, '/', piece, pieces)
               ? EXIT_OK
               : usage_error(parsed->command,
                             "option --piece: found '%.100s', expected the number of the piece and "
                             "how many there are, such as 1/4",
                             text);
}

int training_piece_choose(const cli_arguments *parsed, phl_train_options *options)
{
    const char *chains = arguments_string(parsed, "piece-chains");
    int code = training_piece_read(parsed, &options->piece, &options->pieces);
    if (code != EXIT_OK) {
        return code;
    }
    if (chains && !read_two(chains, ':', &options->piece_first_chain, &options->piece_last_chain)) {
        return usage_error(parsed->command,
                           "option --piece-chains: found '%.100s', expected the first and the last "
                           "chain, such as 1:2",
                           chains);
    }
    options->piece_classes = arguments_list(parsed, "piece-classes", &options->n_piece_classes);
    if (options->n_piece_classes > 0 && !arguments_flag(parsed, "per-class")) {
        return usage_error(parsed->command, "option --piece-classes needs --per-class");
    }
    return EXIT_OK;
}
