/* export_netcdf.c - a class as NetCDF-4 with the groups that ArviZ reads; see export.h.
 *
 * Made in memory, then written like every other file.  libnetcdf is opened when it is needed: it
 * brings some forty other libraries, which no other command should have to load.  Built without its
 * header there is nothing here.
 */
#include "export/export.h"
#include "print/rows.h"

#include <stdlib.h>

#ifdef PHLOEM_NETCDF

#include <dlfcn.h>
#include <netcdf.h>
#include <netcdf_mem.h>
#include <string.h>

/* The calls of libnetcdf that are used here. */
#define CALLS(X)                                                                                   \
    X(nc_create_mem)                                                                               \
    X(nc_close_memio)                                                                              \
    X(nc_def_grp)                                                                                  \
    X(nc_def_dim)                                                                                  \
    X(nc_def_var)                                                                                  \
    X(nc_put_var_longlong)                                                                         \
    X(nc_put_var_double)                                                                           \
    X(nc_put_att_text)                                                                             \
    X(nc_strerror)

typedef struct netcdf_library {
    void *handle; /* NULL: it is not there, or lacks a call */
#define MEMBER(call) __typeof__(&(call)) call;
    CALLS(MEMBER)
#undef MEMBER
} netcdf_library;

static netcdf_library library_open(void)
{
    static const char *const names[] = {"libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so"};
    netcdf_library library = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names && !library.handle; i++) {
        library.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
#define FIND(call)                                                                                 \
    if (library.handle) {                                                                          \
        *(void **)&library.call = dlsym(library.handle, #call);                                    \
    }                                                                                              \
    if (library.handle && !library.call) {                                                         \
        dlclose(library.handle);                                                                   \
        library.handle = NULL;                                                                     \
    }
    CALLS(FIND)
#undef FIND
    return library;
}

bool export_netcdf_there(void)
{
    netcdf_library library = library_open();
    if (library.handle) {
        dlclose(library.handle);
    }
    return library.handle != NULL;
}

/* A file on its way; the first failure stays. */
typedef struct netcdf {
    const exported *e;
    netcdf_library library;
    int file, state;
    size_t chains, warmup, draws; /* of each chain: the least */
} netcdf;

static void check(netcdf *n, int state)
{
    n->state = n->state == NC_NOERR ? state : n->state;
}

static void put_text(netcdf *n, int group, const char *key, const char *text)
{
    if (n->state == NC_NOERR) {
        check(n, n->library.nc_put_att_text(group, NC_GLOBAL, key, strlen(text), text));
    }
}

/* Chains that count: those compared, or all without a sampler. */
static bool is_listed(const netcdf *n, size_t i)
{
    return !n->e->gibbs || n->e->diagnosis->chains[i].compared;
}

static void measure(netcdf *n)
{
    n->warmup = n->draws = SIZE_MAX;
    for (size_t i = 0; i < n->e->diagnosis->n_chains; i++) {
        size_t chain, warmup, draws;
        export_rows_chain(n->e, i, &chain, &warmup, &draws);
        if (is_listed(n, i)) {
            n->warmup = warmup < n->warmup ? warmup : n->warmup;
            n->draws = draws < n->draws ? draws : n->draws;
            n->chains++;
        }
    }
    n->warmup = n->chains ? n->warmup : 0;
    n->draws = n->chains ? n->draws : 0;
}

/* Rows begin .. begin + count - 1 of every chain, one column: [chains][count]; to be freed. */
static double *gather(const netcdf *n, size_t begin, size_t count, size_t column)
{
    double *values = terminal_allocate(n->chains * count + 1, sizeof *values);
    size_t at = 0;
    for (size_t i = 0; i < n->e->diagnosis->n_chains; i++) {
        for (size_t k = 0; is_listed(n, i) && k < count; k++) {
            const phl_trace_row *row =
                phl_trace_get(n->e->model, n->e->diagnosis->chains[i].chain, begin + k);
            values[at++] = export_rows_value(n->e, row, column);
        }
    }
    return values;
}

static void put_axis(netcdf *n, int group, const char *name, size_t size, int *dimension)
{
    int variable = 0;
    long long *numbers = terminal_allocate(size + 1, sizeof *numbers);
    for (size_t i = 0; i < size; i++) {
        numbers[i] = (long long)i;
    }
    check(n, n->library.nc_def_dim(group, name, size, dimension));
    if (n->state == NC_NOERR) {
        check(n, n->library.nc_def_var(group, name, NC_INT64, 1, dimension, &variable));
    }
    if (n->state == NC_NOERR) {
        check(n, n->library.nc_put_var_longlong(group, variable, numbers));
    }
    free(numbers);
}

/* The quantities, or the statistics, of some rows as a group. */
static void put_group(netcdf *n, const char *name, bool statistics, size_t begin, size_t count)
{
    int group = 0, axes[2] = {0, 0};
    if (n->state != NC_NOERR || count == 0 || n->chains == 0) {
        return;
    }
    check(n, n->library.nc_def_grp(n->file, name, &group));
    if (n->state == NC_NOERR) {
        put_axis(n, group, "chain", n->chains, &axes[0]);
        put_axis(n, group, "draw", count, &axes[1]);
    }
    put_text(n, group, "inference_library", "phloem");
    put_text(n, group, "inference_library_version", phl_version());
    for (size_t c = 0; c < n->e->n_columns && n->state == NC_NOERR; c++) {
        /* The log-joint is a quantity, and what ArviZ calls lp. */
        bool lp = statistics && c == 0;
        int variable = 0;
        if (n->e->columns[c].statistic != statistics && !lp) {
            continue;
        }
        double *values = gather(n, begin, count, c);
        check(n, n->library.nc_def_var(group, lp ? "lp" : n->e->columns[c].name, NC_DOUBLE, 2, axes,
                                       &variable));
        if (n->state == NC_NOERR) {
            check(n, n->library.nc_put_var_double(group, variable, values));
        }
        free(values);
    }
}

static void put_all(netcdf *n)
{
    const char *name = phl_run_class_name(n->e->run, n->e->index);
    measure(n);
    put_text(n, n->file, "creation_library", "phloem");
    put_text(n, n->file, "phloem_model", phl_kind_name(phl_run_kind(n->e->run)));
    put_text(n, n->file, "phloem_class", name ? name : "");
    put_group(n, "posterior", false, n->warmup, n->draws);
    put_group(n, "sample_stats", true, n->warmup, n->draws);
    put_group(n, "warmup_posterior", false, 0, n->warmup);
    put_group(n, "warmup_sample_stats", true, 0, n->warmup);
}

int export_netcdf_write(const exported *e, const char *stem)
{
    netcdf n = {.e = e, .library = library_open()};
    NC_memio image = {0};
    rows_file result = {0};
    int code = EXIT_OK;
    if (!n.library.handle) {
        terminal_message("NetCDF needs libnetcdf, which is not there; install it (Debian: "
                         "libnetcdf19), or use --to json");
        return EXIT_SYSTEM;
    }
    char *path = text_format("%s.nc", stem);
    check(&n, n.library.nc_create_mem("phloem", NC_NETCDF4, 1 << 16, &n.file));
    if (n.state == NC_NOERR) {
        put_all(&n);
        int closed = n.library.nc_close_memio(n.file, &image);
        check(&n, closed);
    }
    if (n.state != NC_NOERR) {
        terminal_message("%s: cannot make the file: %s", path, n.library.nc_strerror(n.state));
        code = EXIT_SYSTEM;
    } else {
        code = rows_file_open(&result, path);
    }
    if (code == EXIT_OK) {
        fwrite(image.memory, 1, image.size, result.file);
    }
    code = rows_file_close(&result, code);
    free(image.memory);
    free(path);
    dlclose(n.library.handle);
    return code;
}

#else

bool export_netcdf_there(void)
{
    return false;
}

int export_netcdf_write(const exported *e, const char *stem)
{
    (void)e;
    (void)stem;
    terminal_message("this phloem was built without NetCDF; build it again with libnetcdf (Debian: "
                     "libnetcdf-dev), or use --to json");
    return EXIT_USAGE;
}

#endif
