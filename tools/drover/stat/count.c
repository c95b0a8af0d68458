// SPDX-License-Identifier: MIT
/* The file with the counts: its shards, modules, condvars and call sites. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"

/* So many slots, or shards, are tried; after that there is no place. */
#define PROBES 16
/* A process makes a file anew after each exec(), so many times. */
#define MOST_EXECS 1000

_Thread_local struct counting counting;
_Atomic(struct counts_file *) counts_file;

/* Held while a module is noted, so that no two threads note the same one. */
static atomic_flag noting = ATOMIC_FLAG_INIT;

static bool drop_in_is_next(void)
{
	void *next = dlsym(RTLD_NEXT, "pthread_cond_broadcast");
	Dl_info where;

	return next && dladdr(next, &where) &&
	       strstr(where.dli_fname, "libdrover-pthread");
}

static struct counts_file *create(void)
{
	const char *folder = secure_getenv("DROVER_STAT_DIR");
	struct counts_file *made = MAP_FAILED;
	char path[4096];
	int fd = -1;

	if (!folder)
		return NULL;
	for (int i = 0; fd < 0 && i < MOST_EXECS; i++) {
		snprintf(path, sizeof(path), "%s/drover-stat.%d.%d", folder,
			 (int)getpid(), i);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd >= 0 && !ftruncate(fd, sizeof(*made)))
		made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (made == MAP_FAILED)
		return NULL;
	made->pid = getpid();
	made->drop_in = drop_in_is_next();
	snprintf(made->name, sizeof(made->name), "%s",
		 program_invocation_short_name);
	made->slots[0].address = OTHERS;
	memcpy(made->magic, COUNT_MAGIC, sizeof(made->magic));
	return made;
}

/* A child of fork() counts in a file of its own, not in its parent's. */
static void forked(void)
{
	struct counts_file *old = atomic_load(&counts_file);

	if (old)
		munmap(old, sizeof(*old));
	memset(&counting, 0, sizeof(counting));
	atomic_flag_clear(&noting);
	atomic_store(&counts_file, create());
}

__attribute__((constructor)) static void begin(void)
{
	int saved = errno;

	atomic_store(&counts_file, create());
	pthread_atfork(NULL, NULL, forked);
	errno = saved;
}

/* ---- shards ---- */

static bool has_ended(int tid)
{
	int saved = errno;
	bool ended = syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;

	errno = saved;
	return ended;
}

/*
 * A shard is taken over when the thread that took it has ended. A destructor of
 * thread-local data would learn of that end, but it would cost each thread an
 * arena of malloc().
 */
__attribute__((cold)) struct row *shard_take(struct counts_file *file)
{
	static _Atomic uint32_t next;
	int self = (int)syscall(SYS_gettid);

	for (int i = 0; i < PROBES; i++) {
		uint32_t nr = atomic_fetch_add(&next, 1);
		uint32_t at = nr % (NR_SHARDS - 1);
		int32_t taker = atomic_load(&file->takers[at]);

		if ((taker && !has_ended(taker)) ||
		    !atomic_compare_exchange_strong(&file->takers[at], &taker,
						    self))
			continue;
		/* Threads begin at different counts, to sample other calls. */
		counting.nr_waits = counting.nr_releases = nr * 61;
		counting.shared = false;
		counting.shard = &file->rows[0][at];
		return counting.shard;
	}
	/* All threads without a shard of their own share the last one. */
	counting.shared = true;
	counting.shard = &file->rows[0][NR_SHARDS - 1];
	return counting.shard;
}

/* ---- modules ---- */

struct search {
	uint64_t address;
	struct module *found;
};

static int search_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	struct module *m = search->found;
	uint64_t least = UINT64_MAX, most = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		least = start < least ? start : least;
		most = start + part->p_memsz > most ? start + part->p_memsz :
						      most;
	}
	if (search->address < least || search->address >= most)
		return 0;
	m->start = least;
	m->end = most;
	m->bias = info->dlpi_addr;
	if (!*info->dlpi_name &&
	    readlink("/proc/self/exe", m->path, sizeof(m->path) - 1) >= 0)
		return 1;
	snprintf(m->path, sizeof(m->path), "%s", info->dlpi_name);
	return 1;
}

static const struct module *find_module(const struct counts_file *file,
					uint64_t address)
{
	uint32_t nr = atomic_load(&file->nr_modules);

	for (uint32_t i = 0; i < nr; i++)
		if (address >= file->modules[i].start &&
		    address < file->modules[i].end)
			return &file->modules[i];
	return NULL;
}

const struct module *module_of(struct counts_file *file, uint64_t address)
{
	const struct module *found = find_module(file, address);
	struct search search = { .address = address };
	int saved = errno;
	uint32_t nr;

	/*
	 * While another thread notes a module, this call returns NULL. Only a
	 * name is missing then.
	 */
	if (found || atomic_flag_test_and_set(&noting))
		return found;
	nr = atomic_load(&file->nr_modules);
	if (nr < NR_MODULES) {
		search.found = &file->modules[nr];
		if (dl_iterate_phdr(search_module, &search))
			atomic_store(&file->nr_modules, nr + 1);
	}
	atomic_flag_clear(&noting);
	errno = saved;
	return find_module(file, address);
}

/* ---- condition variables and sites ---- */

__attribute__((cold)) uint32_t slot_find(struct counts_file *file,
					 uint64_t address)
{
	uint32_t at = slot_first(address);
	bool is_new;

	for (int i = 0; i < PROBES; i++, at = (at + 1) % NR_CONDS) {
		/* Slot 0 stands for all condvars without a slot. */
		if (!at ||
		    !is_there(&file->slots[at].address, address, &is_new))
			continue;
		if (is_new)
			module_of(file, address);
		return at;
	}
	return 0;
}

__attribute__((cold)) void site_add(struct counts_file *file, struct row *row,
				    uint64_t site)
{
	bool is_new;

	for (int i = 0; i < NR_SITES; i++) {
		if (!is_there(&row->sites[i], site, &is_new))
			continue;
		if (is_new)
			module_of(file, site << 2 >> 2);
		/* Threads that share a shard may lose some counts. */
		atomic_store_explicit(
			&row->site_counts[i],
			atomic_load_explicit(&row->site_counts[i],
					     memory_order_relaxed) +
				1,
			memory_order_relaxed);
		return;
	}
}
