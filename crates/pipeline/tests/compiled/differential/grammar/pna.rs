//! Programs of PNA 0.5 and 0.7, with add-on-miss tables, entries that packets write, mirrors and
//! accelerators.

use super::{Grammar, Source, Stage};

const TYPES: &str = "struct Learnt { bit<16> c; }
struct Kept { bit<32> value; }
";

/// The declarations of a program.
#[derive(Clone, Debug)]
pub(super) struct Controls {
    main: String,
    /// Whether the pre control has the metadata type of the main blocks.
    same_types: bool,
    file: String,
}

impl Controls {
    pub(super) fn new(grammar: &mut Grammar<'_, '_>) -> Self {
        let file = match grammar.is_old {
            true => "dpdk/pna.p4".to_owned(),
            false => grammar.one_of(&["pna.p4", "bmv2/pna.p4", "tc/pna.p4"]),
        };
        let instances = grammar.shared_instances();
        let tables = grammar.shared_tables(
            "send_to_port((PortId_t) (bit<32>) to);",
            "drop_packet();",
            ["", ""],
        );
        let learning = grammar.learning();
        let main = format!("{instances}{tables}{learning}");
        Self { main, same_types: grammar.below(2) == 0, file }
    }
}

impl Controls {
    /// Returns whether the main control sees the metadata of the socket buffer of Linux.
    pub(super) fn has_kernel(&self) -> bool {
        self.file.starts_with("tc")
    }
}

impl Source {
    /// Returns the text of a program of PNA.
    pub(super) fn pna_text(&self, controls: &Controls) -> String {
        let Controls { main, same_types, file } = controls;
        let join = |statements: &[String]| statements.join("\n        ");
        let headers =
            if file.starts_with("bmv2") || file.starts_with("tc") { "inout H h" } else { "in H h" };
        // This parameter is optional.
        let kernel = if file.starts_with("tc") { ", tc_skb_metadata kernel" } else { "" };
        let [pre_metadata, pre_program, accelerator] = match self.is_old {
            true => {
                [if *same_types { "M" } else { "Other" }, "Pre(), ", "ipsec_accelerator() ipsec;"]
            }
            false => ["", "", ""],
        };
        let pre = match self.is_old {
            true => format!(
                "control Pre(in H found, inout {pre_metadata} m, in pna_pre_input_metadata_t given, inout pna_pre_output_metadata_t o) {{ apply {{
        H h = found;
        {} }} }}\n",
                join(&self.ending)
            ),
            false => String::new(),
        };
        format!(
            "#include <core.p4>
#include <{file}>
{}{TYPES}
parser P(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t given) {{
{} }}
{pre}control I(inout H h, inout M m, in pna_main_input_metadata_t given, inout pna_main_output_metadata_t o{kernel}) {{ {accelerator} {main}
    apply {{
        {} }} }}
control D(packet_out b, {headers}, in M m, in pna_main_output_metadata_t o) {{ Digest<Message>() told; apply {{
    {}
    {} }} }}
PNA_NIC(P(), {pre_program}I(), D()) main;",
            self.declarations(),
            self.states("", &self.parser),
            join(&self.ingress),
            join(&self.compute),
            self.emits(),
        )
    }
}

impl Grammar<'_, '_> {
    /// Returns actions and tables that add entries, restart timers, and write entries.
    fn learning(&mut self) -> String {
        let profile = "(ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) (h.a.d[7:0] & 3)";
        let [learns, keeps, ages] = match self.is_old {
            true => [
                format!("if (h.a.l != 7) {{ m.z = add_entry(\"known\", (Learnt) {{ c = h.a.c }}, {profile}); }}"),
                "m.z = add_entry(\"exchange\", (Kept) { value = m.k }, (ExpireTimeProfileId_t) 1);".to_owned(),
                "set_entry_expire_time_if(h.a.l == 2, (ExpireTimeProfileId_t) 2);".to_owned(),
            ],
            false => [
                format!("m.k = m.k + (bit<32>) add_entry_if(h.a.l != 7, \"known\", (Learnt) {{ c = h.a.c }}, {profile});"),
                "m.z = add_entry(\"exchange\", (Kept) { value = m.k }, (ExpireTimeProfileId_t) 1) == ADD_ENTRY_SUCCESS;".to_owned(),
                self.one_of(&[
                    "set_entry_expire_time_if(h.a.l == 2, (ExpireTimeProfileId_t) 2);",
                    "update_expire_info(h.a.l[0:0] == 0, h.a.l[1:1] == 0, (ExpireTimeProfileId_t) 1);",
                ]),
            ],
        };
        let idle = self.one_of(&["AUTO_DELETE", "NOTIFY_CONTROL", "NO_TIMEOUT"]);
        let flow = self.one_of(&["", "", "", "m.k = (FlowIdUint_t) allocate_flow_id();"]);
        format!(
            "
    action known(bit<16> c) {{ h.a.c = h.a.c ^ c; restart_expire_timer(); if (c == 3) {{ exit; }} }}
    action longer(bit<16> c) {{ m.csum = c; set_entry_expire_time((ExpireTimeProfileId_t) 2); }}
    action ages(bit<16> c) {{ m.csum = c; {ages} }}
    action learn() {{ {flow} {learns} }}
    action exchange(@__ref bit<32> value) {{ bit<32> old = value; value = m.k; m.k = old; if (old == 5) {{ exit; }} }}
    action keep() {{ {keeps} }}
    table learning_ {{ key = {{ h.a.d: exact; h.a.l: exact; }} actions = {{ known; longer; ages; learn; }} default_action = learn();
        add_on_miss = true; size = 6; pna_idle_timeout = PNA_IdleTimeout_t.{idle}; }}
    @tableconfig(impl = \"dpdk\", synced = true)
    table values_ {{ key = {{ h.a.v: exact; }} actions = {{ exchange; keep; }} default_action = keep(); add_on_miss = true; size = 9; }}
"
        )
    }

    /// Returns a call of an extern in the main control.
    pub(super) fn pna_call(&mut self) -> String {
        let (low, high) = (self.below(5), self.below(20));
        let direction = match self.is_old {
            true => self.one_of(&[
                "given.direction",
                "PNA_Direction_t.HOST_TO_NET",
                "PNA_Direction_t.NET_TO_HOST",
            ]),
            false => self.one_of(&[
                "is_net_port(given.input_port)",
                "is_host_port(given.input_port)",
                "m.z",
            ]),
        };
        let (one, other) = (self.leaf(32), self.leaf(32));
        match self.below(26) {
            0..2 => "if (learning_.apply().hit) { h.a.l = 2; }".to_owned(),
            2..4 => "values_.apply();".to_owned(),
            4 => format!("send_to_port((PortId_t) 32w{high});"),
            5 => "drop_packet();".to_owned(),
            6 => format!(
                "mirror_packet((MirrorSlotId_t) {}, (MirrorSessionId_t) {});",
                low & 1,
                4 + (high & 3)
            ),
            7 | 8 | 13 | 14 => format!("m.k = SelectByDirection({direction}, {one}, {other});"),
            9 if !self.is_old => "if (is_net_port(given.input_port)) { m.z = true; }".to_owned(),
            10 if !self.is_old => "m.z = is_host_port((PortId_t) (bit<32>) h.a.v);".to_owned(),
            9 => "if ((PassNumberUint_t) given.pass < 3w2 && h.a.l[1:0] == 3) { recirculate(); }"
                .to_owned(),
            11..=12 | 15..=18 if self.kernel && (!self.is_simple || low < 3) => self.kernel_call(),
            10..=12 if self.is_old => self.accelerator_call(),
            _ => self.shared_call(Stage::Ingress),
        }
    }

    /// Returns a call of `ipsec_accelerator`.
    fn accelerator_call(&mut self) -> String {
        self.one_of(&[
            "ipsec.enable();",
            "ipsec.disable();",
            "ipsec.set_sa_index<bit<32>>(m.k);",
            "ipsec.set_ip_header_offset<bit<16>>(h.a.c);",
            "{ ipsec_status status; m.z = ipsec.from_ipsec(status); if (status == ipsec_status.IPSEC_SUCCESS) { m.k = 3; } if (status == ipsec_status.IPSEC_ERROR) { m.k = 4; } }",
        ])
    }

    /// Returns a call of `tc_skb_metadata`.
    fn kernel_call(&mut self) -> String {
        let value = self.leaf(64);
        let fields = [
            ("tstamp", 64),
            ("mark", 32),
            ("tc_classid", 16),
            ("tc_index", 16),
            ("queue_mapping", 16),
            ("protocol", 16),
        ];
        let position = self.below(fields.len() as u32) as usize;
        let (name, width) = fields.get(position).copied().unwrap_or(("mark", 32));
        let other = self.one_of(&[
            "kernel.get();",
            "kernel.set();",
            "m.k = (bit<32>) kernel.get_tc_at_ingress();",
            "m.k = (bit<32>) kernel.get_from_ingress();",
            "",
        ]);
        format!(
            "{other} m.q = (bit<64>) kernel.get_{name}(); kernel.set_{name}((bit<{width}>) {value});"
        )
    }

    /// Returns a statement of a deparser that emits nothing.
    pub(super) fn pna_message(&mut self) -> String {
        let (condition, message) = (self.condition(0), self.message());
        format!("if ({condition}) {{ told.pack({message}); }}")
    }
}
