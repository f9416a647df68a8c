//! The commands of simple_switch_CLI.

use super::{Command, Support};
use crate::simple_switch::{arrays, profiles, replication, tables as entries, whole as switch};
use crate::{tables, value_sets, whole};

const fn refused(name: &'static str, operands: &'static str, reason: &'static str) -> Command {
    Command {
        name,
        operands,
        about: "not possible over P4Runtime",
        support: Support::Impossible(reason),
    }
}

const GROUP_OF_TABLE: &str = "the default entry of an indirect table is fixed in P4Runtime; let the table's entries cover \
                              all packets instead";
const PORTS: &str = "ports are given to the switch at its start, `planimeter switch -i NUMBER@INTERFACE`; gNMI \
                     sets only whether they are enabled";
const CRC: &str = "the parameters of a hash are part of the program";
const HANDLE: &str = "TABLE NUMBER";

/// The commands of simple_switch_CLI, by name.
pub const SIMPLE_SWITCH: &[Command] = &[
    Command::new(
        "act_prof_add_member_to_group",
        "PROFILE MEMBER GROUP",
        "add a member to a group",
        profiles::add_to_group,
    ),
    Command::new(
        "act_prof_create_group",
        "PROFILE",
        "add an empty group, and print its number",
        profiles::create_group,
    ),
    Command::new(
        "act_prof_create_member",
        "PROFILE ACTION PARAMETER ...",
        "add a member, and print its number",
        profiles::create_member,
    ),
    Command::new(
        "act_prof_delete_group",
        "PROFILE GROUP",
        "remove a group",
        profiles::delete_group,
    ),
    Command::new(
        "act_prof_delete_member",
        "PROFILE MEMBER",
        "remove a member",
        profiles::delete_member,
    ),
    Command::new("act_prof_dump", "PROFILE", "show members and groups", profiles::dump),
    Command::new("act_prof_dump_group", "PROFILE GROUP", "show a group", profiles::dump_group),
    Command::new("act_prof_dump_member", "PROFILE MEMBER", "show a member", profiles::dump_member),
    Command::new(
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER PARAMETER ...",
        "replace the action of a member",
        profiles::modify_member,
    ),
    Command::new(
        "act_prof_remove_member_from_group",
        "PROFILE MEMBER GROUP",
        "remove a member from a group",
        profiles::remove_from_group,
    ),
    Command::new("counter_read", "NAME INDEX", "show a counter", arrays::read_counter),
    Command::new("counter_reset", "NAME", "set all cells to 0", crate::arrays::reset_counter),
    Command::new(
        "counter_write",
        "NAME INDEX PACKETS BYTES",
        "set a counter",
        arrays::write_counter,
    ),
    Command::new(
        "get_time_elapsed",
        "",
        "show the microseconds since the switch started; needs the switch's own service",
        switch::time_elapsed,
    ),
    Command::new(
        "get_time_since_epoch",
        "",
        "show the microseconds since 1970 by the switch's clock; needs the switch's own service",
        switch::time_since_epoch,
    ),
    Command::new(
        "load_new_config_file",
        "FILE",
        "store a pipeline for swap_configs",
        switch::load_config,
    ),
    Command::new("mc_dump", "", "show multicast groups", replication::dump),
    Command::new(
        "mc_mgrp_create",
        "GROUP",
        "add an empty multicast group",
        replication::create_group,
    ),
    Command::new(
        "mc_mgrp_destroy",
        "GROUP",
        "remove a multicast group",
        replication::destroy_group,
    ),
    Command::new(
        "mc_node_associate",
        "GROUP NODE",
        "add the copies of a node to a group",
        replication::associate,
    ),
    Command::new(
        "mc_node_create",
        "INSTANCE PORT ... [| LAG ...]",
        "make a node in this session, and print its number",
        replication::create_node,
    ),
    Command::new(
        "mc_node_destroy",
        "NODE",
        "forget a node, and remove its copies",
        replication::destroy_node,
    ),
    Command::new(
        "mc_node_dissociate",
        "GROUP NODE",
        "remove the copies of a node from a group",
        replication::dissociate,
    ),
    Command::new(
        "mc_node_update",
        "NODE PORT ... [| LAG ...]",
        "replace the ports of a node",
        replication::update_node,
    ),
    Command::new(
        "mc_set_lag_membership",
        "LAG PORT ...",
        "set the ports of a link aggregation group; its copy leaves by the first that is up",
        replication::set_lag,
    ),
    Command::new(
        "meter_array_set_rates",
        "NAME RATE:BURST RATE:BURST",
        "set the rates of all cells, per microsecond",
        arrays::set_array_rates,
    ),
    Command::new("meter_get_rates", "NAME INDEX", "show rates, per second", arrays::get_rates),
    Command::new(
        "meter_set_rates",
        "NAME INDEX RATE:BURST RATE:BURST",
        "set rates, per microsecond",
        arrays::set_rates,
    ),
    Command::new("mirroring_add", "SESSION PORT", "clone to a port", replication::add_session),
    Command::new(
        "mirroring_add_mc",
        "SESSION GROUP",
        "clone to the ports that a group has now",
        replication::add_session_of_group,
    ),
    Command::new(
        "mirroring_delete",
        "SESSION",
        "remove a clone session",
        replication::delete_session,
    ),
    Command::new("mirroring_get", "SESSION", "show a clone session", replication::get_session),
    refused("port_add", "INTERFACE PORT [PCAP]", PORTS),
    refused("port_remove", "PORT", PORTS),
    Command::new("pvs_add", "NAME VALUE", "add a member to a value set", switch::add_to_value_set),
    Command::new("pvs_clear", "NAME", "remove all members of a value set", value_sets::clear),
    Command::new("pvs_get", "NAME", "show the members of a value set", value_sets::dump),
    Command::new(
        "pvs_remove",
        "NAME VALUE",
        "remove a member from a value set",
        switch::remove_from_value_set,
    ),
    Command::new(
        "register_read",
        "NAME [INDEX]",
        "show cells of a register",
        crate::arrays::read_register,
    ),
    Command::new(
        "register_reset",
        "NAME",
        "set all cells to their first value",
        crate::arrays::reset_register,
    ),
    Command::new(
        "register_write",
        "NAME INDEX VALUE",
        "set a cell of a register",
        crate::arrays::write_register,
    ),
    Command::new("reset_state", "", "delete all entries, and reset arrays", switch::reset_state),
    Command::new(
        "serialize_state",
        "FILE",
        "write the state to a file of commands, on the side of the client",
        switch::serialize_state,
    ),
    refused("set_crc16_parameters", "NAME POLYNOMIAL ...", CRC),
    refused("set_crc32_parameters", "NAME POLYNOMIAL ...", CRC),
    Command::new(
        "set_queue_depth",
        "PACKETS [PORT [QUEUE]]",
        "limit queues; needs the switch's own service",
        switch::set_queue_depth,
    ),
    Command::new(
        "set_queue_rate",
        "RATE [PORT [QUEUE]]",
        "packets per second of queues; needs the switch's own service",
        switch::set_queue_rate,
    ),
    refused("shell", "COMMAND", "commands of the system are left to the system's shell"),
    Command::new("show_actions", "", "show parameters of actions", tables::actions),
    Command::new("show_ports", "", "show ports, over gNMI", whole::ports),
    Command::new("show_pvs", "", "show value sets", switch::show_value_sets),
    Command::new("show_tables", "", "show keys and actions of tables", tables::list),
    Command::new("swap_configs", "", "make the stored pipeline effective", whole::commit),
    Command::new(
        "switch_info",
        "",
        "show facts about the switch; needs the switch's own service",
        switch::info,
    ),
    Command::new(
        "table_add",
        "TABLE ACTION VALUE ... => PARAMETER ... [PRIORITY]",
        "insert an entry; the smallest priority wins",
        entries::add,
    ),
    Command::new("table_clear", "TABLE", "delete the entries of a table", entries::clear),
    Command::new("table_delete", HANDLE, "delete an entry by its number", entries::delete),
    Command::new(
        "table_delete_match",
        "TABLE VALUE ... [PRIORITY]",
        "delete an entry by its key",
        entries::delete_match,
    ),
    Command::new("table_dump", "TABLE", "show entries with their numbers", entries::dump),
    Command::new("table_dump_entry", HANDLE, "show an entry", entries::dump_entry),
    Command::new(
        "table_dump_entry_from_key",
        "TABLE VALUE ... [PRIORITY]",
        "show an entry by its key",
        entries::dump_entry_from_key,
    ),
    Command::new("table_dump_group", "TABLE GROUP", "show a group", profiles::dump_group),
    Command::new("table_dump_member", "TABLE MEMBER", "show a member", profiles::dump_member),
    Command::new(
        "table_indirect_add",
        "TABLE VALUE ... => MEMBER [PRIORITY]",
        "insert an entry with a member",
        entries::add_with_member,
    ),
    Command::new(
        "table_indirect_add_member_to_group",
        "TABLE MEMBER GROUP",
        "add a member to a group",
        profiles::add_to_group,
    ),
    Command::new(
        "table_indirect_add_with_group",
        "TABLE VALUE ... => GROUP [PRIORITY]",
        "insert an entry with a group",
        entries::add_with_group,
    ),
    Command::new(
        "table_indirect_create_group",
        "TABLE",
        "add an empty group",
        profiles::create_group,
    ),
    Command::new(
        "table_indirect_create_member",
        "TABLE ACTION PARAMETER ...",
        "add a member",
        profiles::create_member,
    ),
    Command::new("table_indirect_delete", HANDLE, "delete an entry by its number", entries::delete),
    Command::new(
        "table_indirect_delete_group",
        "TABLE GROUP",
        "remove a group",
        profiles::delete_group,
    ),
    Command::new(
        "table_indirect_delete_member",
        "TABLE MEMBER",
        "remove a member",
        profiles::delete_member,
    ),
    Command::new(
        "table_indirect_modify_member",
        "TABLE ACTION MEMBER PARAMETER ...",
        "replace the action of a member",
        profiles::modify_member,
    ),
    Command::new(
        "table_indirect_remove_member_from_group",
        "TABLE MEMBER GROUP",
        "remove a member from a group",
        profiles::remove_from_group,
    ),
    refused("table_indirect_reset_default", "TABLE", GROUP_OF_TABLE),
    refused("table_indirect_set_default", "TABLE MEMBER", GROUP_OF_TABLE),
    refused("table_indirect_set_default_with_group", "TABLE GROUP", GROUP_OF_TABLE),
    Command::new("table_info", "TABLE", "show a table and its actions", entries::info),
    Command::new(
        "table_modify",
        "TABLE ACTION NUMBER PARAMETER ...",
        "replace the action of an entry",
        entries::modify,
    ),
    Command::new("table_num_entries", "TABLE", "count entries", tables::count),
    Command::new(
        "table_reset_default",
        "TABLE",
        "restore the default action of the program",
        tables::reset_default,
    ),
    Command::new(
        "table_set_default",
        "TABLE ACTION PARAMETER ...",
        "replace the default action",
        entries::set_default,
    ),
    Command::new(
        "table_set_timeout",
        "TABLE NUMBER MILLISECONDS",
        "set the idle timeout of an entry",
        entries::set_timeout,
    ),
    Command::new("table_show_actions", "TABLE", "show the actions of a table", tables::actions),
    Command::new(
        "write_config_to_file",
        "FILE",
        "write the configuration of the pipeline to a file, on the side of the client",
        switch::write_config,
    ),
];
