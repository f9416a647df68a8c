//! The command line of `planimeter ctl`.

use std::path::PathBuf;

use clap::{Args, Parser};
use p4runtime::arbitration::ElectionId;
use p4runtime::client::ClientTls;

use crate::failure::Failure;
use crate::program::Sources;
use crate::tls;

const ABOUT: &str =
    "Control a P4Runtime device by commands: tables, groups, counters, registers, packets, queues";

const LONG_ABOUT: &str = "\
Control a P4Runtime device by commands: one on the command line, those in a file, or in a shell with history and completion.

Names of tables, actions and fields are those of the device's own P4Info. A short name will do where no other has it. Values are \
numbers (10, 0x0a), addresses (10.0.0.1, 2001:db8::1, 08:00:00:00:01:11), prefixes (10.0.0.0/8), masks (0x800&&&0xf00), ranges \
(80..443), or * for any. Lines of simple_switch_CLI are understood too. `planimeter ctl ADDRESS help` lists all commands.

Reading needs no rights. The first command that writes makes this the primary controller, until the end. If another controller is \
primary, the command is refused; --take-over or a higher --election-id displaces it.";

const EXAMPLES: &str = "\
Examples:
  The tables of a switch, and their entries:
    planimeter ctl 127.0.0.1:9559 tables
    planimeter ctl 127.0.0.1:9559 table dump

  A route, by the names of programs/router.p4:
    planimeter ctl 127.0.0.1:9559 table add routes destination=10.0.0.0/8 via next_hop=10.0.0.1 port=2

  The same as simple_switch_CLI has it, in quotes because of the `>`:
    planimeter ctl 127.0.0.1:9559 'table_add routes via 10.0.0.0/8 => 10.0.0.1 2'

  A file of commands of either kind, checked without a device first:
    planimeter ctl - --p4info l2.p4info.txtpb --dry-run --file commands.txt
    planimeter ctl 127.0.0.1:9559 --file commands.txt

  All state as a file of commands:
    planimeter ctl 127.0.0.1:9559 dump

  Packets and digests as they arrive, as JSON, for ten seconds:
    planimeter ctl 127.0.0.1:9559 --json listen --for 10s

  A shell with history and completion:
    planimeter ctl 127.0.0.1:9559

Exit status: 0 done; 1 the device refused a command; 2 a command is wrong; 3 the device could not be reached; 130 interrupted.";

/// The arguments of `planimeter ctl`.
#[derive(Debug, Parser)]
#[command(
    name = "ctl",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// The address of the P4Runtime server, such as 127.0.0.1:9559, or - for no device
    #[arg(value_name = "HOST:PORT", allow_hyphen_values = true)]
    pub(super) address: String,
    /// The command, as one argument or as several words [a shell, or the lines of standard input]
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) command: Vec<String>,
    /// Run the commands in the lines of this file, or of standard input for -
    #[arg(long, short, value_name = "FILE", conflicts_with = "command")]
    pub(super) file: Option<PathBuf>,
    /// Run the following lines also after a command has failed
    #[arg(long, short)]
    pub(super) keep_going: bool,
    /// Print each result as a line of JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Show requests that would change the device, or read from it, instead of sending them
    #[arg(long, short = 'n')]
    pub(super) dry_run: bool,
    /// The P4Info that names are looked up in [that of the device]
    #[arg(long, value_name = "FILE")]
    pub(super) p4info: Option<PathBuf>,
    /// The device at the server
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) device_id: u64,
    /// The role of this controller [the default role, which may do everything]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub(super) role: String,
    /// The election id with which this controller becomes primary: a number, or HIGH,LOW [the
    /// smallest with which it becomes primary without displacing another one]
    #[arg(long, value_name = "NUMBER", value_parser = election_id)]
    pub(super) election_id: Option<ElectionId>,
    /// Become primary also if another controller is primary, which then is no longer
    #[arg(long)]
    pub(super) take_over: bool,
    #[command(flatten)]
    pub(super) sources: Sources,
    #[command(flatten)]
    tls: Tls,
}

/// The flags that name the files with certificates and keys for TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
struct Tls {
    /// The authorities that issue the device's certificate; enables TLS
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the device, and those of its issuers
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// The name in the device's certificate, if it is not the host
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_server_name: Option<String>,
}

impl Arguments {
    /// Returns the settings of the connection to the device.
    pub(super) fn tls(&self) -> Result<Option<ClientTls>, Failure> {
        let Tls { tls_ca, tls_certificate, tls_key, tls_server_name } = &self.tls;
        let identity = tls::identity(tls_certificate.as_deref(), tls_key.as_deref())?;
        tls::client(tls_ca.as_deref(), identity, tls_server_name.clone())
    }
}

/// Parses an election id: a number, or its upper and lower 64 bits as `HIGH,LOW`.
fn election_id(text: &str) -> Result<ElectionId, String> {
    let parsed = match text.split_once(',') {
        Some((high, low)) => high.parse::<u64>().ok().zip(low.parse::<u64>().ok()),
        None => None,
    };
    let whole = parsed.map(|(high, low)| u128::from(high) << 64 | u128::from(low));
    let whole = whole.or_else(|| text.parse::<u128>().ok()).filter(|id| *id > 0);
    whole.map(ElectionId).ok_or_else(|| "expected a number from 1 on, or HIGH,LOW".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use clap::FromArgMatches as _;

    fn parsed(line: &str) -> Arguments {
        let words = std::iter::once("ctl").chain(line.split_whitespace());
        let matches = Arguments::command().try_get_matches_from(words).expect(line);
        Arguments::from_arg_matches(&matches).expect("clap has checked them")
    }

    #[test]
    fn options_of_a_command_are_not_those_of_the_verb() {
        let line = "h:1 --json table add t f=1 a --priority 5 --json";
        let arguments = parsed(line);
        assert!(arguments.json && !arguments.dry_run);
        assert_eq!(arguments.command.join(" "), "table add t f=1 a --priority 5 --json");
        assert_eq!(parsed("- -n dump").address, "-");
        assert!(parsed("h:1 -n -f x").command.is_empty());
    }

    #[test]
    fn election_ids_have_two_forms() {
        assert_eq!(election_id("7"), Ok(ElectionId(7)));
        assert_eq!(election_id("1,2"), Ok(ElectionId((1 << 64) + 2)));
        for wrong in ["0", "0,0", "x", "", "1,", "-1"] {
            assert!(election_id(wrong).is_err(), "{wrong}");
        }
    }
}
