/* DPDK's ports behind a few functions: what src/dpdk.rs calls. Most of DPDK's packet path is inline functions, which
 * only C can call. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

enum { BURST = 64, DESCRIPTORS = 1024, DATA_ROOM = RTE_MBUF_DEFAULT_BUF_SIZE };

struct shim_port {
	uint16_t id;
	uint16_t mtu;
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_mempool *pool;
};

struct shim_packet {
	struct rte_mbuf *buffer;
	const uint8_t *bytes;
	uint32_t length;
};

/* Starts DPDK; the calling thread becomes its main one. Virtual devices only. A negative errno if it does not start. */
int shim_start(const char *lcores, int huge_pages)
{
	char lcores_copy[64];
	snprintf(lcores_copy, sizeof(lcores_copy), "%s", lcores);
	/* Nothing is shared with other processes either way. */
	char *arguments[] = { "planimeter", "--no-pci", "--no-telemetry", "--log-level", "1", "-m", "256", "--lcores",
			      lcores_copy, huge_pages ? "--in-memory" : "--no-shconf", huge_pages ? NULL : "--no-huge",
			      NULL };
	int count = huge_pages ? 10 : 11;
	if (rte_eal_init(count, arguments) < 0)
		return rte_errno != 0 ? -rte_errno : -EINVAL;
	return 0;
}

static pthread_key_t leaving;
static pthread_once_t leaving_made = PTHREAD_ONCE_INIT;

static void leave(void *unused)
{
	(void)unused;
	rte_thread_unregister();
}

static void make_leaving(void)
{
	pthread_key_create(&leaving, leave);
}

/* Gives the calling thread caches of the memory pools. Without it everything works, more slowly. */
static void join(void)
{
	static __thread int asked;
	if (asked)
		return;
	asked = 1;
	pthread_once(&leaving_made, make_leaving);
	if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0)
		pthread_setspecific(leaving, &asked);
}

/* Starts a device that is stopped. A negative errno if that fails. */
int shim_start_again(const struct shim_port *port)
{
	int error = rte_eth_dev_start(port->id);
	/* A client of net_memif that finds no server. */
	return error == -1 ? -ENOTCONN : error;
}

/* Stops a device that is to be started again. */
void shim_stop(const struct shim_port *port)
{
	rte_eth_dev_stop(port->id);
}

/* Makes a device of DPDK's arguments ("net_null0,copy=1") and starts it. A negative errno if that fails; -ENOSPC if it
 * has fewer queues, whose number is then in port->mtu. */
int shim_open(struct shim_port *port, const char *arguments, uint16_t queues)
{
	size_t length = strcspn(arguments, ",");
	if (length >= sizeof(port->name))
		return -ENAMETOOLONG;
	memcpy(port->name, arguments, length);
	port->name[length] = 0;
	/* To probe a device again is no error, and what failed after it would take away the one that is there. */
	if (rte_eth_dev_get_port_by_name(port->name, &port->id) == 0)
		return -EEXIST;
	int error = rte_dev_probe(arguments);
	if (error < 0)
		return error;
	error = rte_eth_dev_get_port_by_name(port->name, &port->id);
	if (error < 0)
		return error;
	struct rte_eth_dev_info info;
	error = rte_eth_dev_info_get(port->id, &info);
	if (error < 0)
		goto remove;
	if (info.max_rx_queues < queues || info.max_tx_queues < queues) {
		port->mtu = RTE_MIN(info.max_rx_queues, info.max_tx_queues);
		error = -ENOSPC;
		goto remove;
	}
	char pool[RTE_MEMPOOL_NAMESIZE];
	snprintf(pool, sizeof(pool), "planimeter%u", port->id);
	/* Two rings of each queue, the bursts in work, and what the caches hold. */
	unsigned int count = queues * (2 * DESCRIPTORS + 4 * BURST) + 4096;
	error = -ENOMEM;
	port->pool = rte_pktmbuf_pool_create(pool, count, 256, 0, DATA_ROOM, SOCKET_ID_ANY);
	if (port->pool == NULL)
		goto remove;
	struct rte_eth_conf configuration = { 0 };
	if (queues > 1 && info.flow_type_rss_offloads != 0) {
		configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		configuration.rx_adv_conf.rss_conf.rss_hf =
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info.flow_type_rss_offloads;
	}
	error = rte_eth_dev_configure(port->id, queues, queues, &configuration);
	for (uint16_t queue = 0; error >= 0 && queue < queues; queue++) {
		error = rte_eth_rx_queue_setup(port->id, queue, DESCRIPTORS, SOCKET_ID_ANY, NULL, port->pool);
		if (error >= 0)
			error = rte_eth_tx_queue_setup(port->id, queue, DESCRIPTORS, SOCKET_ID_ANY, NULL);
	}
	if (error >= 0)
		error = shim_start_again(port);
	if (error < 0)
		goto free_pool;
	/* Some virtual devices cannot, and need not. */
	rte_eth_promiscuous_enable(port->id);
	if (rte_eth_dev_get_mtu(port->id, &port->mtu) < 0)
		port->mtu = RTE_ETHER_MTU;
	/* A packet has to fit into one buffer. */
	port->mtu = RTE_MIN(port->mtu, DATA_ROOM - RTE_PKTMBUF_HEADROOM - RTE_ETHER_HDR_LEN - RTE_VLAN_HLEN);
	return 0;

free_pool:
	rte_mempool_free(port->pool);
remove:
	rte_eal_hotplug_remove("vdev", port->name);
	return error;
}

void shim_close(struct shim_port *port)
{
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	rte_eal_hotplug_remove("vdev", port->name);
	rte_mempool_free(port->pool);
}

/* Whether the other end is there. */
int shim_is_up(const struct shim_port *port)
{
	struct rte_eth_link link = { 0 };
	return rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* Packets that came and found no room. */
uint64_t shim_missed(const struct shim_port *port)
{
	struct rte_eth_stats statistics;
	if (rte_eth_stats_get(port->id, &statistics) != 0)
		return 0;
	return statistics.imissed + statistics.rx_nombuf;
}

/* Packets that came, at most `count` and 64. Those in several buffers have no bytes. */
uint16_t shim_receive(const struct shim_port *port, uint16_t queue, struct shim_packet *packets, uint16_t count)
{
	struct rte_mbuf *buffers[BURST];
	join();
	count = rte_eth_rx_burst(port->id, queue, buffers, RTE_MIN(count, BURST));
	for (uint16_t index = 0; index < count; index++) {
		struct rte_mbuf *buffer = buffers[index];
		packets[index].buffer = buffer;
		packets[index].bytes = rte_pktmbuf_mtod(buffer, const uint8_t *);
		packets[index].length = buffer->nb_segs == 1 ? buffer->data_len : 0;
	}
	return count;
}

void shim_free(struct shim_packet *packets, uint16_t count)
{
	struct rte_mbuf *buffers[BURST];
	count = RTE_MIN(count, BURST);
	for (uint16_t index = 0; index < count; index++)
		buffers[index] = packets[index].buffer;
	rte_pktmbuf_free_bulk(buffers, count);
}

/* A copy of a packet of at most mtu + 18 bytes that may be transmitted; NULL if there is no memory. */
struct rte_mbuf *shim_copy(const struct shim_port *port, const uint8_t *bytes, uint16_t length)
{
	join();
	struct rte_mbuf *buffer = rte_pktmbuf_alloc(port->pool);
	if (buffer == NULL)
		return NULL;
	/* The next one may have left the nearest cache since it was used. */
	struct rte_mempool_cache *cache = rte_mempool_default_cache(port->pool, rte_lcore_id());
	if (cache != NULL && cache->len > 0)
		rte_prefetch0(cache->objs[cache->len - 1]);
	char *place = rte_pktmbuf_append(buffer, length);
	if (place == NULL) {
		rte_pktmbuf_free(buffer);
		return NULL;
	}
	memcpy(place, bytes, length);
	return buffer;
}

/* Hands copies to the device, which takes the first ones, as many as it has room for. */
uint16_t shim_transmit(const struct shim_port *port, uint16_t queue, struct rte_mbuf **buffers, uint16_t count)
{
	return rte_eth_tx_burst(port->id, queue, buffers, count);
}

void shim_drop(struct rte_mbuf *buffer)
{
	rte_pktmbuf_free(buffer);
}
