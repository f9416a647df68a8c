/* DPDK's rte_hash with the storages of the paper, for the comparison in benches/updates.rs.
 *
 * Each loop looks up a whole array of keys, so that the call from Rust costs nothing. Every
 * operation reads the old value of an entry and writes a new one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>
#include <rte_memory.h>

/* An entry, with an action and a value of 4 B each. The storage determines its alignment. */
struct entry {
	uint32_t action;
	uint32_t value;
};

struct shim_table {
	struct rte_hash *hash;
	int storage;            /* 0 original, 1 dynamic, 2 static */
	char *entries;          /* static: 16 B each */
	struct entry **pointers; /* original */
	uint32_t size;
};

#define HUGE_PAGE ((size_t)2 << 20)

/* The heap of the tables, on transparent huge pages like the tables of this crate. Unless huge
 * pages are reserved, DPDK's own memory is shared memory, for which the kernel provides none. */
static int heap;

/* Extends the heap to `bytes` bytes in total, which DPDK fills with zeros. Returns 0 on success. */
int shim_reserve(size_t bytes)
{
	static size_t reserved;
	if (bytes <= reserved)
		return 0;
	size_t more = RTE_ALIGN(bytes - reserved, HUGE_PAGE);
	char *memory = mmap(NULL, more + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	memory = RTE_PTR_ALIGN(memory, HUGE_PAGE);
	/* If the advice is refused, the pages are small ones, which the benchmark reports. */
	madvise(memory, more, MADV_HUGEPAGE);
	if (rte_malloc_heap_memory_add("tables", memory, more, NULL, 0, HUGE_PAGE) != 0)
		return -1;
	reserved += more;
	return 0;
}

/* Starts DPDK's environment. Returns 0 if it is running. */
int shim_init(void)
{
	char *arguments[] = { "tables", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "-m", "512",
			      "-l", "0", "--log-level", "1", NULL };
	if (rte_eal_init(11, arguments) < 0)
		return -1;
	if (rte_malloc_heap_create("tables") != 0)
		return -1;
	heap = rte_malloc_heap_get_socket("tables");
	return heap < 0 ? -1 : 0;
}

/* Returns the heap for other tables of the benchmark. */
int shim_heap(void)
{
	return heap;
}

struct shim_table *shim_new(uint32_t size, int storage, int lock_free)
{
	static unsigned number;
	char name[32];
	snprintf(name, sizeof(name), "shim%u", number++);
	struct rte_hash_parameters parameters = {
		.name = name,
		.entries = size < 8 ? 8 : size,
		.key_len = 4,
		.hash_func = rte_hash_crc,
		.socket_id = heap,
		.extra_flag = lock_free ? RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF : 0,
	};
	struct shim_table *table = calloc(1, sizeof(*table));
	if (table == NULL)
		return NULL;
	table->storage = storage;
	table->hash = rte_hash_create(&parameters);
	if (table->hash == NULL) {
		free(table);
		return NULL;
	}
	table->size = rte_hash_max_key_id(table->hash) + 1;
	if (storage == 2)
		table->entries = rte_zmalloc_socket(NULL, (size_t)table->size * 16, 64, heap);
	if (storage == 0)
		table->pointers = rte_zmalloc_socket(NULL, (size_t)table->size * sizeof(void *), 64, heap);
	return table;
}

/* Returns the largest number of entries of a table. */
uint32_t shim_room(const struct shim_table *table)
{
	return table->size;
}

/* Returns an address in the memory of the table. */
uintptr_t shim_memory(const struct shim_table *table)
{
	return (uintptr_t)(table->entries != NULL ? (const void *)table->entries : (const void *)table->hash);
}

void shim_free(struct shim_table *table)
{
	const void *key;
	void *data;
	uint32_t next = 0;
	int position;
	while ((position = rte_hash_iterate(table->hash, &key, &data, &next)) >= 0)
		rte_free(table->storage == 0 ? (void *)table->pointers[position] : table->storage == 1 ? data : NULL);
	rte_hash_free(table->hash);
	rte_free(table->entries);
	rte_free(table->pointers);
	free(table);
}

int shim_insert(struct shim_table *table, uint32_t key, uint32_t value)
{
	struct entry *entry;
	if (table->storage == 1) {
		entry = rte_zmalloc_socket(NULL, 64, 64, heap);
		if (entry == NULL || rte_hash_add_key_data(table->hash, &key, entry) < 0)
			return -1;
	} else {
		int32_t position = rte_hash_add_key(table->hash, &key);
		if (position < 0)
			return -1;
		if (table->storage == 0) {
			entry = table->pointers[position] = rte_zmalloc_socket(NULL, 64, 64, heap);
			if (entry == NULL)
				return -1;
		} else {
			entry = (struct entry *)(table->entries + (size_t)position * 16);
		}
	}
	entry->value = value;
	return 0;
}

static inline uint64_t update(struct entry *entry, uint32_t mask)
{
	uint64_t old = entry->value;
	entry->value = (uint32_t)old ^ mask;
	return old;
}

uint64_t shim_update_scalar(struct shim_table *table, const uint32_t *keys, size_t count, uint32_t mask)
{
	uint64_t sum = 0;
	for (size_t at = 0; at < count; at++) {
		if (table->storage == 1) {
			void *data;
			if (rte_hash_lookup_data(table->hash, &keys[at], &data) >= 0)
				sum += update(data, mask);
		} else {
			int32_t position = rte_hash_lookup(table->hash, &keys[at]);
			if (position < 0)
				continue;
			if (table->storage == 0)
				sum += update(table->pointers[position], mask);
			else
				sum += update((struct entry *)(table->entries + (size_t)position * 16), mask);
		}
	}
	return sum;
}

uint64_t shim_update_bulk(struct shim_table *table, const uint32_t *keys, size_t count, uint32_t mask)
{
	uint64_t sum = 0;
	const void *pointers[32];
	int32_t positions[32];
	for (size_t at = 0; at + 32 <= count; at += 32) {
		for (int i = 0; i < 32; i++)
			pointers[i] = &keys[at + i];
		rte_hash_lookup_bulk(table->hash, pointers, 32, positions);
		for (int i = 0; i < 32; i++)
			if (positions[i] >= 0)
				__builtin_prefetch(table->entries + (size_t)positions[i] * 16, 1);
		for (int i = 0; i < 32; i++)
			if (positions[i] >= 0)
				sum += update((struct entry *)(table->entries + (size_t)positions[i] * 16), mask);
	}
	return sum;
}
