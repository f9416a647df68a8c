//! The flags of `planimeter switch` that limit the resources which its peers, such as controllers,
//! may take.

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches};
use softswitch::{Limits, SwitchLimits};

use crate::failure::Failure;

/// The limits of the switch's P4Runtime server, as flags. Their defaults are those of
/// [`SwitchLimits`].
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// The most seconds from accepting a connection to the client's SETTINGS, TLS included
    #[arg(long = "limit-handshake-seconds", value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    handshake_seconds: u64,
    /// The most connections whose handshake is not over
    #[arg(long = "limit-half-open", value_name = "NUMBER", default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    half_open: u32,
    /// The most connections
    ///
    /// The most connections. At this limit, a new connection replaces the oldest idle connection of
    /// the address that has most connections. The connection of a primary is never replaced.
    #[arg(long = "limit-connections", value_name = "NUMBER", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// The most connections from one address (IPv6: one /64)
    #[arg(long = "limit-connections-per-address", value_name = "NUMBER", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    connections_per_address: u32,
    /// The most open calls of a connection
    #[arg(long = "limit-calls", value_name = "NUMBER", default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// The most calls of a connection that the client cancelled before they were served
    #[arg(long = "limit-calls-given-up", value_name = "NUMBER", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    calls_given_up: u32,
    /// The most bytes of a request's headers
    #[arg(long = "limit-header-bytes", value_name = "BYTES", default_value_t = 16 << 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1024..))]
    header_bytes: u32,
    /// The most memory of one connection in MiB
    ///
    /// The most memory of one connection in MiB, for windows, incomplete messages, open calls, and
    /// messages that wait to be sent. A call that needs more ends with RESOURCE_EXHAUSTED.
    #[arg(long = "limit-held-per-connection", value_name = "MIB", default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    held_per_connection: u32,
    /// The most memory of all connections in MiB
    ///
    /// The most memory of all connections in MiB. At this limit, the connection that uses most
    /// memory is closed. The connection of a primary is never closed.
    #[arg(long = "limit-held", value_name = "MIB", default_value_t = 1024)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    held: u32,
    /// The most bytes of metadata that a controller stores with an entity
    #[arg(long = "limit-metadata-bytes", value_name = "BYTES", default_value_t = 1024)]
    metadata_bytes: u32,
    /// The most entries of a table with ternary, range or optional fields
    ///
    /// The most entries of a table with ternary, range or optional fields, whatever size the table
    /// declares. The memory and time of such a table grow faster than its number of entries.
    #[arg(long = "limit-searched-entries", value_name = "NUMBER", default_value_t = 65_536)]
    searched_entries: u64,
    /// The most memory in MiB of the packets in the queues of a device
    ///
    /// The most memory in MiB of the packets that wait in the queues of a device's ports. Beyond
    /// it, packets are dropped and counted, whatever the depths of the queues are, which clients
    /// may change.
    #[arg(long = "limit-queued", value_name = "MIB", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    queued: u32,
}

/// Returns the limits of the switch that the command line selects.
pub(super) fn limits(matches: &ArgMatches) -> Result<SwitchLimits, Failure> {
    let given = LimitArguments::from_arg_matches(matches).map_err(Failure::input)?;
    let mib = |count: u32| (count as usize).saturating_mul(1 << 20);
    Ok(SwitchLimits {
        server: Limits {
            handshake: Duration::from_secs(given.handshake_seconds),
            half_open: given.half_open as usize,
            connections: given.connections as usize,
            connections_per_address: given.connections_per_address as usize,
            calls: given.calls,
            calls_given_up: given.calls_given_up as usize,
            header_bytes: given.header_bytes,
            held_per_connection: mib(given.held_per_connection),
            held: mib(given.held),
        },
        metadata: given.metadata_bytes as usize,
        searched_entries: given.searched_entries,
        queued: u64::from(given.queued).saturating_mul(1 << 20),
    })
}

#[cfg(test)]
mod tests {
    use super::super::pushes::PushArguments;
    use super::*;

    fn parsed(line: &str) -> SwitchLimits {
        let words = ["switch", "--no-p4"].into_iter().chain(line.split_whitespace());
        let matches = super::super::command().try_get_matches_from(words).expect("understood");
        limits(&matches).expect("read")
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        assert_eq!(parsed(""), SwitchLimits::default());
    }

    /// The tables of SECURITY.md contain each flag with its default, and no other flags.
    #[test]
    fn the_threat_model_names_each_limit() {
        let document = include_str!("../../../../SECURITY.md");
        let (_, limits) = document.split_once("## Limits").expect("a section of limits");
        let rows = limits.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| `--")?.split('|');
            let flag = cells.next()?.trim().trim_end_matches('`');
            Some((flag.to_owned(), cells.next()?.trim().to_owned()))
        });
        let command = LimitArguments::augment_args(clap::Command::new("switch"));
        let command = PushArguments::augment_args(command);
        let defaults = command.get_arguments().filter_map(|argument| {
            let default = argument.get_default_values().first()?;
            Some((argument.get_long()?.to_owned(), default.to_string_lossy().into_owned()))
        });
        assert_eq!(rows.collect::<Vec<_>>(), defaults.collect::<Vec<_>>());
    }

    #[test]
    fn each_limit_has_a_flag() {
        let given = parsed(
            "--limit-handshake-seconds 1 --limit-half-open 2 --limit-connections 3 \
             --limit-connections-per-address 4 --limit-calls 5 --limit-calls-given-up 6 \
             --limit-header-bytes 7000 --limit-held-per-connection 8 --limit-held 9 \
             --limit-metadata-bytes 10 --limit-searched-entries 11 --limit-queued 12",
        );
        let expected = SwitchLimits {
            server: Limits {
                handshake: Duration::from_secs(1),
                half_open: 2,
                connections: 3,
                connections_per_address: 4,
                calls: 5,
                calls_given_up: 6,
                header_bytes: 7000,
                held_per_connection: 8 << 20,
                held: 9 << 20,
            },
            metadata: 10,
            searched_entries: 11,
            queued: 12 << 20,
        };
        assert_eq!(given, expected);
    }
}
