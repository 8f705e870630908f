/* source.h - a source of trees begun anew. */
#ifndef PHL_FORMAT_SOURCE_H
#define PHL_FORMAT_SOURCE_H

#include "phloem.h"

/* A forest is given again from its beginning; of files and text, what is left. */
void phl_source_begin(phl_source *source);

#endif
