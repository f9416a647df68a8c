"""Parses every packet with os-ken's own packet library, then answers it: python os_ken_parser.py PORT"""
import sys

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.controller.ofp_event import EventOFPPacketIn
from os_ken.lib.packet import ipv4, tcp
from os_ken.lib.packet.packet import Packet
from os_ken.ofproto import ofproto_v1_3 as of


class Parser(OSKenApp):
    OFP_VERSIONS = [of.OFP_VERSION]

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message, switch = event.msg, event.msg.datapath
        packet = Packet(message.data)
        # Whatever stands behind TCP must be payload, and no other protocol's.
        if packet.get_protocol(tcp.tcp) and not isinstance(packet.protocols[-1], (bytes, bytearray, tcp.tcp)):
            header = packet.get_protocol(tcp.tcp)
            print("foreign", type(packet.protocols[-1]).__name__, header.src_port, header.dst_port, flush=True)
        assert packet.get_protocol(ipv4.ipv4) or message.data[12:14] == b"\x08\x06", message.data
        parser = switch.ofproto_parser
        actions = [parser.OFPActionOutput(of.OFPP_FLOOD)]
        port = message.match["in_port"]
        switch.send_msg(parser.OFPPacketOut(switch, of.OFP_NO_BUFFER, port, actions, message.data))


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host=127.0.0.1", f"--ofp-tcp-listen-port={sys.argv[1]}"])
    AppManager.run_apps([__file__])
