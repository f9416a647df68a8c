/* DPDK's searches for prefixes (rte_lpm, rte_fib) and rules (rte_acl), for the comparison in
 * benches/matching.rs.
 *
 * Each loop looks up a whole array of keys, so that the call from Rust costs nothing, and returns
 * the sum of the numbers found, each plus one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_acl.h>
#include <rte_byteorder.h>
#include <rte_fib.h>
#include <rte_lpm.h>

int shim_heap(void);

#define BULK 32

struct rte_lpm *shim_lpm_new(uint32_t routes)
{
	static unsigned number;
	char name[32];
	snprintf(name, sizeof(name), "lpm%u", number++);
	struct rte_lpm_config config = { .max_rules = routes, .number_tbl8s = 1 << 16, .flags = 0 };
	return rte_lpm_create(name, shim_heap(), &config);
}

int shim_lpm_add(struct rte_lpm *lpm, uint32_t address, uint8_t length, uint32_t number)
{
	return rte_lpm_add(lpm, address, length, number);
}

uint64_t shim_lpm_search(struct rte_lpm *lpm, const uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	uint32_t found[BULK];
	for (size_t at = 0; at + BULK <= count; at += BULK) {
		rte_lpm_lookup_bulk(lpm, &keys[at], found, BULK);
		for (int i = 0; i < BULK; i++)
			if (found[i] & RTE_LPM_LOOKUP_SUCCESS)
				sum += (found[i] & 0x00ffffff) + 1;
	}
	return sum;
}

void shim_lpm_free(struct rte_lpm *lpm)
{
	rte_lpm_free(lpm);
}

#define NO_ROUTE 0x3fffffff

struct rte_fib *shim_fib_new(uint32_t routes)
{
	static unsigned number;
	char name[32];
	snprintf(name, sizeof(name), "fib%u", number++);
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = NO_ROUTE,
		.max_routes = 2 * routes,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 17 },
	};
	return rte_fib_create(name, shim_heap(), &config);
}

int shim_fib_add(struct rte_fib *fib, uint32_t address, uint8_t length, uint32_t number)
{
	return rte_fib_add(fib, address, length, number);
}

uint64_t shim_fib_search(struct rte_fib *fib, uint32_t *keys, size_t count)
{
	uint64_t sum = 0;
	uint64_t found[BULK];
	for (size_t at = 0; at + BULK <= count; at += BULK) {
		rte_fib_lookup_bulk(fib, &keys[at], found, BULK);
		for (int i = 0; i < BULK; i++)
			if (found[i] != NO_ROUTE)
				sum += found[i] + 1;
	}
	return sum;
}

void shim_fib_free(struct rte_fib *fib)
{
	rte_fib_free(fib);
}

/* A rule over protocol, addresses and ports, in the layout of benches/matching/rules.rs. */
struct shim_rule {
	uint32_t source, destination;
	uint16_t source_ports[2], destination_ports[2];
	uint8_t source_length, destination_length;
	uint8_t protocol, protocol_mask;
	uint32_t priority;
};

/* The fields of a packet, in their order: protocol and padding, addresses, ports. */
struct shim_packet {
	uint8_t protocol, padding[3];
	uint8_t rest[12];
};

enum { PROTOCOL, SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT, FIELDS };

static const struct rte_acl_field_def definitions[FIELDS] = {
	{ RTE_ACL_FIELD_TYPE_BITMASK, 1, PROTOCOL, 0, 0 },
	{ RTE_ACL_FIELD_TYPE_MASK, 4, SOURCE, 1, 4 },
	{ RTE_ACL_FIELD_TYPE_MASK, 4, DESTINATION, 2, 8 },
	{ RTE_ACL_FIELD_TYPE_RANGE, 2, SOURCE_PORT, 3, 12 },
	{ RTE_ACL_FIELD_TYPE_RANGE, 2, DESTINATION_PORT, 3, 14 },
};

RTE_ACL_RULE_DEF(acl_rule, FIELDS);

/* Builds a context of these rules. Returns NULL if DPDK cannot build it. */
struct rte_acl_ctx *shim_acl_new(const struct shim_rule *rules, uint32_t count)
{
	static unsigned number;
	char name[32];
	snprintf(name, sizeof(name), "acl%u", number++);
	struct rte_acl_param parameters = {
		.name = name,
		.socket_id = shim_heap(),
		.rule_size = RTE_ACL_RULE_SZ(FIELDS),
		.max_rule_num = count,
	};
	struct rte_acl_ctx *context = rte_acl_create(&parameters);
	if (context == NULL)
		return NULL;
	int failed = 0;
	for (uint32_t at = 0; at < count && !failed; at++) {
		const struct shim_rule *rule = &rules[at];
		struct acl_rule own;
		memset(&own, 0, sizeof(own));
		own.data.category_mask = 1;
		own.data.priority = (int32_t)rule->priority;
		/* DPDK returns 0 if no rule matches, so numbers start at 1. */
		own.data.userdata = at + 1;
		own.field[PROTOCOL].value.u8 = rule->protocol;
		own.field[PROTOCOL].mask_range.u8 = rule->protocol_mask;
		own.field[SOURCE].value.u32 = rule->source;
		own.field[SOURCE].mask_range.u32 = rule->source_length;
		own.field[DESTINATION].value.u32 = rule->destination;
		own.field[DESTINATION].mask_range.u32 = rule->destination_length;
		own.field[SOURCE_PORT].value.u16 = rule->source_ports[0];
		own.field[SOURCE_PORT].mask_range.u16 = rule->source_ports[1];
		own.field[DESTINATION_PORT].value.u16 = rule->destination_ports[0];
		own.field[DESTINATION_PORT].mask_range.u16 = rule->destination_ports[1];
		failed = rte_acl_add_rules(context, (const struct rte_acl_rule *)&own, 1);
	}
	struct rte_acl_config config = { .num_categories = 1, .num_fields = FIELDS };
	memcpy(config.defs, definitions, sizeof(definitions));
	if (failed || rte_acl_build(context, &config) != 0) {
		rte_acl_free(context);
		return NULL;
	}
	return context;
}

uint64_t shim_acl_search(const struct rte_acl_ctx *context, const struct shim_packet *packets, size_t count)
{
	uint64_t sum = 0;
	const uint8_t *data[BULK];
	uint32_t found[BULK];
	for (size_t at = 0; at + BULK <= count; at += BULK) {
		for (int i = 0; i < BULK; i++)
			data[i] = (const uint8_t *)&packets[at + i];
		rte_acl_classify(context, data, found, BULK, 1);
		for (int i = 0; i < BULK; i++)
			sum += found[i];
	}
	return sum;
}

void shim_acl_free(struct rte_acl_ctx *context)
{
	rte_acl_free(context);
}
