"""Paths over the topology that os-ken discovers, with the REST interface of ofctl_rest and rest_topology as far as
planimeter asks it: python os_ken_paths.py OPENFLOW_PORT REST_PORT

os-ken has the functions behind these interfaces (os_ken.lib.ofctl_v1_3, os_ken.topology.api), and no web application."""
import json
import sys
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_event import (
    EventOFPFlowStatsReply, EventOFPPacketIn, EventOFPStateChange, EventOFPSwitchFeatures)
from os_ken.lib import hub, ofctl_v1_3
from os_ken.ofproto import ofproto_v1_3 as of
from os_ken.topology import api, event, switches  # noqa: F401 (defines --observe-links)

# In the cookies of rules, which tells them from what sends packets to the controller.
RULES = 1


class Paths(OSKenApp):
    OFP_VERSIONS = [of.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.datapaths, self.links, self.hosts, self.waiters = {}, {}, {}, {}
        hub.spawn(ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), handler(self)).serve_forever)

    @set_ev_cls(EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def table_miss(self, features):
        switch = features.msg.datapath
        to_controller = {"type": "OUTPUT", "port": of.OFPP_CONTROLLER}
        ofctl_v1_3.mod_flow_entry(switch, {"priority": 0, "actions": [to_controller]}, of.OFPFC_ADD)

    @set_ev_cls(EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def comes_or_goes(self, change):
        switch = change.datapath
        if change.state == MAIN_DISPATCHER:
            self.datapaths[switch.id] = switch
        elif self.datapaths.get(switch.id) is switch:
            del self.datapaths[switch.id]

    @set_ev_cls(event.EventLinkAdd)
    def link_up(self, added):
        link = added.link
        self.links[link.src.dpid, link.src.port_no] = (link.dst.dpid, link.dst.port_no)

    @set_ev_cls(event.EventLinkDelete)
    def link_down(self, deleted):
        source = deleted.link.src
        if self.links.pop((source.dpid, source.port_no), None):
            # Packets then come again, and get another path.
            for switch in list(self.datapaths.values()):
                ofctl_v1_3.mod_flow_entry(switch, {"cookie": RULES, "cookie_mask": RULES}, of.OFPFC_DELETE)

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, arrival):
        message = arrival.msg
        switch, port, data = message.datapath, message.match["in_port"], message.data
        if data[12:14] == b"\x88\xcc":
            return
        destination, source = data[:6].hex(":"), data[6:12].hex(":")
        if (switch.id, port) not in self.links:
            self.hosts[source] = (switch.id, port)
        path = self.path((switch.id, port), self.hosts.get(destination))
        for dpid, entered, left in reversed(path):
            rule = {"priority": 1, "cookie": RULES, "actions": [{"type": "OUTPUT", "port": left}],
                    "match": {"in_port": entered, "eth_src": source, "eth_dst": destination}}
            ofctl_v1_3.mod_flow_entry(self.datapaths[dpid], rule, of.OFPFC_ADD)
        if path:
            self.send(switch, [path[0][2]], data)
        elif (switch.id, port) not in self.links:
            self.flood((switch.id, port), data)

    def path(self, start, end):
        """Switch, port in and port out of each hop; nothing where there is no way."""
        if end is None:
            return []
        way, queue = {end[0]: end[1]}, deque([end[0]])
        while queue and start[0] not in way:
            at = queue.popleft()
            for (near, _), (far, back) in list(self.links.items()):
                if near == at and far not in way:
                    way[far] = back
                    queue.append(far)
        hops, at = [], start
        while at[0] in way and at[0] in self.datapaths:
            hops.append((at[0], at[1], way[at[0]]))
            if at[0] == end[0]:
                return hops
            at = self.links.get((at[0], way[at[0]]), (None, None))
        return []

    def flood(self, entered, data):
        for switch in list(self.datapaths.values()):
            ports = {port.port_no for one in api.get_switch(self, switch.id) for port in one.ports}
            self.send(switch, [port for port in ports if (switch.id, port) not in self.links
                               and (switch.id, port) != entered], data)

    def send(self, switch, ports, data):
        parser = switch.ofproto_parser
        actions = [parser.OFPActionOutput(port) for port in ports]
        if actions:
            switch.send_msg(parser.OFPPacketOut(
                switch, of.OFP_NO_BUFFER, of.OFPP_CONTROLLER, actions, data))

    @set_ev_cls(EventOFPFlowStatsReply, MAIN_DISPATCHER)
    def counted(self, reply):
        message = reply.msg
        waiting = self.waiters.get(message.datapath.id, {})
        if message.xid in waiting:
            lock, messages = waiting[message.xid]
            messages.append(message)
            if not message.flags & of.OFPMPF_REPLY_MORE:
                del waiting[message.xid]
                lock.set()

    def answer(self, path):
        if path == "/v1.0/topology/switches":
            return [switch.to_dict() for switch in api.get_all_switch(self)]
        if path == "/v1.0/topology/links":
            return [link.to_dict() for link in api.get_all_link(self)]
        dpid = int(path.removeprefix("/stats/flow/"))
        return ofctl_v1_3.get_flow_stats(self.datapaths[dpid], self.waiters)

    def install(self, rule):
        ofctl_v1_3.mod_flow_entry(self.datapaths[rule["dpid"]], rule, of.OFPFC_ADD)


def handler(application):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply(json.dumps(application.answer(self.path)))

        def do_POST(self):
            assert self.path == "/stats/flowentry/add", self.path
            application.install(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply("")

        def reply(self, text):
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    return Handler


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host=127.0.0.1", f"--ofp-tcp-listen-port={sys.argv[1]}", "--observe-links"])
    AppManager.run_apps([__file__])
