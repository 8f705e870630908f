/* kind.c - kinds of models and their names. */
#include <string.h>

#include "base/error.h"

static const struct {
    phl_kind kind;
    const char *name;
} kinds[] = {{PHL_SP, "sp"}, {PHL_FULL, "full"},       {PHL_TF, "tf"},
             {PHL_TD, "td"}, {PHL_GRAMMAR, "grammar"}, {PHL_NO_KIND, "none"}};

const char *phl_kind_name(phl_kind kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].kind == kind) {
            return kinds[i].name;
        }
    }
    return "none";
}

phl_kind phl_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    return (phl_kind)0;
}
