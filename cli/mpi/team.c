/* team.c - the ranks of phloem-mpi; see team.h.
 *
 * The first rank trains in a thread of its own, while the thread that may talk to MPI hands out
 * tasks to the others; it looks for their questions every few milliseconds, since a rank that waits
 * inside MPI uses its core as if it worked.
 *
 * Contents: ranks, agreeing, handing out.
 */
#include "mpi/team.h"
#include "interrupt.h"
#include "print/terminal.h"

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE = 2000000 /* nanoseconds */, TAG_FREE = 1, TAG_TASK = 2, NO_CODE = -1 };
enum { KEPT = 200 }; /* the number that standard error has while a rank is mute */

static void pause_shortly(void)
{
    const struct timespec pause = {0, PAUSE};
    (void)nanosleep(&pause, NULL);
}

/* ---- ranks ---- */

void team_begin(int *argc, char ***argv)
{
    int given;
    (void)MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
}

bool team_begun(void)
{
    int begun = 0;
    (void)MPI_Initialized(&begun);
    return begun != 0;
}

void team_end(void)
{
    MPI_Request request;
    int there = 0;
    (void)MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && !there) {
        pause_shortly();
    }
    (void)MPI_Finalize();
}

void team_abort(int code)
{
    (void)MPI_Abort(MPI_COMM_WORLD, code);
}

size_t team_rank(void)
{
    int rank = 0;
    if (team_begun()) {
        (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    return (size_t)rank;
}

size_t team_size(void)
{
    int size = 1;
    if (team_begun()) {
        (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    return (size_t)size;
}

void team_mute(bool mute)
{
    int nothing = mute && team_rank() > 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (nothing >= 0 && dup2(STDERR_FILENO, KEPT) == KEPT) {
        (void)dup2(nothing, STDERR_FILENO);
    } else if (!mute && fcntl(KEPT, F_GETFD) != -1) {
        (void)dup2(KEPT, STDERR_FILENO);
        (void)close(KEPT);
    }
    if (nothing >= 0) {
        (void)close(nothing);
    }
}

/* ---- agreeing ---- */

int team_agree(int code, const char *what)
{
    struct {
        int code, rank;
    } own = {code, (int)team_rank()}, worst = own;
    (void)MPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (own.rank == 0 && code == EXIT_OK && worst.code != EXIT_OK) {
        terminal_message("rank %d cannot %s, though the first one can: is every file there on its "
                         "machine, and the same?",
                         worst.rank, what);
    }
    return worst.code;
}

void team_share(void *bytes, size_t size)
{
    (void)MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* ---- handing out ---- */

/* On the first rank. */
struct hall {
    pthread_mutex_t lock;
    size_t next, n, done; /* tasks from 1 */
    int code;             /* of the first task that did not end well */
    bool own_ended, quiet, told;
    const char *interrupted;
    team_task *task;
    void *context;
};

/* The next task, 0: none; `code` is that of the one before. */
static size_t take(struct hall *hall, int code)
{
    (void)pthread_mutex_lock(&hall->lock);
    if (code == EXIT_OK) {
        hall->done++;
        if (!hall->quiet) {
            terminal_message("%zu of %zu tasks done", hall->done, hall->n);
        }
    } else if (code != NO_CODE && hall->code == EXIT_OK) {
        hall->code = code;
    }
    size_t number = hall->code == EXIT_OK && hall->next <= hall->n ? hall->next++ : 0;
    (void)pthread_mutex_unlock(&hall->lock);
    return number;
}

static void *work_here(void *context)
{
    struct hall *hall = context;
    int code = NO_CODE;
    for (size_t number; (number = take(hall, code)) > 0;) {
        code = hall->task(number, hall->context);
    }
    (void)pthread_mutex_lock(&hall->lock);
    hall->own_ended = true;
    (void)pthread_mutex_unlock(&hall->lock);
    return NULL;
}

/* Has the own thread ended, and did all go well so far? */
static bool look(struct hall *hall, int *code)
{
    (void)pthread_mutex_lock(&hall->lock);
    bool ended = hall->own_ended;
    *code = hall->code;
    (void)pthread_mutex_unlock(&hall->lock);
    return ended;
}

/* That the job was interrupted, once. */
static void tell(struct hall *hall, bool interrupted)
{
    if (interrupted && !hall->told) {
        hall->told = true;
        terminal_message("%s", hall->interrupted);
    }
}

static int hand_out(struct hall *hall)
{
    pthread_t thread;
    size_t others = team_size() - 1; /* that may still ask */
    int code = EXIT_OK;
    if (pthread_create(&thread, NULL, work_here, hall) != 0) {
        terminal_message("cannot start a thread");
        team_abort(EXIT_SYSTEM);
        return EXIT_SYSTEM;
    }
    while (!look(hall, &code) || others > 0) {
        MPI_Status status;
        int asked = 0, told;
        tell(hall, interrupt_asked(NULL));
        if (code != EXIT_OK && code != EXIT_INTERRUPTED) {
            terminal_message(
                "a task failed, which ends all ranks; once that is mended, 'phloem-mpi "
                "resume' goes on");
            team_abort(code);
        }
        (void)MPI_Iprobe(MPI_ANY_SOURCE, TAG_FREE, MPI_COMM_WORLD, &asked, &status);
        if (!asked) {
            pause_shortly();
            continue;
        }
        (void)MPI_Recv(&told, 1, MPI_INT, status.MPI_SOURCE, TAG_FREE, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
        uint64_t number = take(hall, told);
        (void)MPI_Send(&number, 1, MPI_UINT64_T, status.MPI_SOURCE, TAG_TASK, MPI_COMM_WORLD);
        others -= number == 0;
    }
    (void)pthread_join(thread, NULL);
    tell(hall, code == EXIT_INTERRUPTED);
    return code;
}

int team_work(size_t n, team_task *task, bool quiet, const char *interrupted, void *context)
{
    if (team_rank() == 0) {
        struct hall hall = {.next = 1,
                            .n = n,
                            .quiet = quiet,
                            .interrupted = interrupted,
                            .task = task,
                            .context = context};
        (void)pthread_mutex_init(&hall.lock, NULL);
        int code = hand_out(&hall);
        (void)pthread_mutex_destroy(&hall.lock);
        return code;
    }
    int code = NO_CODE;
    uint64_t number;
    do {
        (void)MPI_Send(&code, 1, MPI_INT, 0, TAG_FREE, MPI_COMM_WORLD);
        (void)MPI_Recv(&number, 1, MPI_UINT64_T, 0, TAG_TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number > 0) {
            code = task((size_t)number, context);
        }
    } while (number > 0);
    return EXIT_OK;
}
