//! The arguments of `planimeter bound`: the manual, and from flags to settings.

use std::path::{Path, PathBuf};

use calculus::Rational;
use calculus::network::{
    Analysis, AnalysisError, ArrivalBound, FlowId, FlowOfInterest, Multiplexing, Network, Settings,
    Unit,
    format::{self, Variation},
};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::failure::Failure;
use crate::output;

const WIDTH: usize = 100;

const ABOUT: &str = "Bound delay and backlog in a network, exactly";

const LONG_ABOUT: &str = "\
Bound delay and backlog in a network, exactly.

Reads servers with service curves and flows with arrival curves and paths, and says what delay and \
what backlog no packet and no server ever exceed, whatever happens, by network calculus. Everything \
is exact arithmetic: 0.67 is 67/100. Beside each bound stands a run of the network that was found \
to come close, so that you see how tight the bound is; a bound that were below it would fail the \
command.

By default the smallest bound of all analyses counts that are proven for the order of service; in \
large networks that of those which are quick, and the notes say what was not tried. A single \
analysis follows the conventions of DNC, the Deterministic Network Calculator.";

const ANALYSES: &str = "\
Analyses:
  best       the smallest of all that are proven and apply
  quick      the smallest of tfa++, sfa and pmoo, and tfa in any order of service, each by one
             convention that is proven; for networks for which the others take too long
  tfa        total flow analysis: delays of all traffic at each server, added up
  tfa++      the same from delay to delay, with the shaping of links
  sfa        separate flow analysis: what servers leave over for the flow, convolved
  pmoo       pay multiplexing only once: what the whole path leaves over; any order of service
  tma        tandem matching: pmoo over the best parts of the path; any order of service
  sink-tree  FIFO networks in which all flows go to one root; exact for token buckets
  ludb       FIFO paths: left-over curves of nested flows with the best parameters; overlaps are cut
  plp        linear program for FIFO paths, of polynomial size
  elp        the same with all times at the last 6 servers, and close to the worst case
  ulp        linear program for any order of service; the worst case itself on a tandem
  all        all of these but quick side by side, those left out that do not apply

Backlog is the data of the flow inside the network; for tfa, as is usual, the data of all flows at
the fullest server of the path. Networks may be cyclic for all but sink-tree.";

const FILES: &str = "\
Files, by their names:
  .toml      Planimeter's own format
  .json      the same in JSON, or an output-port network of Saihu
  .xml       a physical network of WOPANets, as xTFA and Saihu read it
  .mppg      a min-plus program: runs it and prints its outputs

  Numbers may have units: 10Mbps, \"1.5 kB\", \"12us\"; without one they are seconds, bits and bits
  per second unless the file says otherwise. A file of two servers:

    time-unit = \"us\"
    [[server]]
    name = \"switch\"
    service = { rate-latency = { rate = \"1Gbps\", latency = 4 } }
    [[server]]
    name = \"gateway\"
    service = { rate-latency = { rate = \"100Mbps\", latency = 20 } }
    shaping = { rate = \"100Mbps\" }
    multiplexing = \"arbitrary\"
    [[flow]]
    name = \"video\"
    path = [\"switch\", \"gateway\"]
    arrival = { token-bucket = { burst = \"20kB\", rate = \"8Mbps\" } }
    maximum-delay = \"5 ms\"
    [[flow]]
    name = \"alarms\"
    path = [\"gateway\"]
    arrival = { staircase = { height = \"100B\", length = \"1ms\" } }";

const EXAMPLES: &str = "\
Examples:
  All flows of a network, and one of them step by step:
    planimeter bound network.toml
    planimeter bound network.toml --flow video --derivation

  What DNC prints for SFA, in any order of service, and with PMOO for the arrivals:
    planimeter bound network.toml --analysis sfa --multiplexing arbitrary
    planimeter bound network.toml -a sfa -m arbitrary --arrival-bound aggregate-pmoo

  Analyses side by side, and all figures for a program:
    planimeter bound network.toml --analysis all
    planimeter bound network.toml --json

  How much more video the network carries: delays at 21 rates, as a table, as CSV, drawn:
    planimeter bound network.toml --vary video.rate=0..60Mbps:20
    planimeter bound network.toml --vary video.rate=0..60Mbps:20 --csv > delays.csv
    planimeter bound network.toml --vary video.rate=0..60Mbps:20 --output runs/video

  Curves of a flow as a drawing:
    planimeter bound network.toml --flow video --plot curves";

const EXIT_STATUS: &str = "\
Exit status:
  0  done
  1  a flow has no bound (the notes say why; see --allow-unbounded; with --vary: at no value) or one
     beyond its maximum-delay or beyond --deadline, a threshold does not hold, a bound contradicts a
     run, or an assertion of a min-plus program does not hold
  2  the file or an argument is wrong, or the analysis does not apply to the network";

/// The verb with all its flags.
pub(crate) fn command() -> Command {
    let short =
        "Defaults are in brackets. The manual, with files and analyses: planimeter bound --help";
    Command::new("bound")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .max_term_width(WIDTH)
        .after_help(short)
        .after_long_help(format!("{ANALYSES}\n\n{FILES}\n\n{EXAMPLES}\n\n{EXIT_STATUS}"))
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The network: .toml, .json, .xml; or a min-plus program, .mppg"),
        )
        .arg(
            Arg::new("flow")
                .short('f')
                .long("flow")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Flow to bound; may be given several times, all flows by default"),
        )
        .arg(
            Arg::new("analysis")
                .short('a')
                .long("analysis")
                .value_name("ANALYSIS")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(
                    Analysis::ALL.iter().map(|analysis| analysis.name()).chain(["all"]),
                ))
                .help("Analysis, or several; by default best, for large networks quick")
                .long_help(
                    "Analysis, or several. The default is best, and without a deadline quick for networks whose flows \
                     have more than 2000 hops together: the notes say then what was not tried and how long that \
                     would take",
                ),
        )
        .arg(
            Arg::new("multiplexing")
                .short('m')
                .long("multiplexing")
                .value_name("ORDER")
                .value_parser(["fifo", "arbitrary", "static-priority"])
                .help("Order of service at all servers, instead of what the file says"),
        )
        .arg(
            Arg::new("arrival-bound")
                .long("arrival-bound")
                .visible_alias("cross-traffic")
                .value_name("METHOD")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .default_value(ArrivalBound::default().name())
                .value_parser(PossibleValuesParser::new(
                    ArrivalBound::ALL.iter().map(|method| method.name()),
                ))
                .help("How arrivals of cross traffic are bounded; of several the smallest counts")
                .long_help(
                    "How arrivals of cross traffic are bounded: flows that come over one link \
                     together as far back as they share their path (aggregate) or each alone \
                     (segregated), with the left-over service of SFA (pboo), PMOO or tandem \
                     matching (tm). Of several the smallest counts at each point of time",
                ),
        )
        .arg(
            Arg::new("flow-of-interest")
                .long("flow-of-interest")
                .value_name("ROLE")
                .default_value("lowest-priority")
                .value_parser(["lowest-priority", "lowest-priority-where-proven", "interferes"])
                .help("Whether cross traffic meets the flow of interest while it is bounded")
                .long_help(
                    "Whether cross traffic meets the flow of interest while it is bounded. With \
                     lowest-priority it does not, as in DNC: proven only for arbitrary \
                     multiplexing and paths that no traffic leaves and comes back to. With \
                     lowest-priority-where-proven it does not there, as in best. With interferes \
                     it does, as in panco",
                ),
        )
        .arg(
            Arg::new("cap-bursts")
                .long("cap-bursts")
                .action(ArgAction::SetTrue)
                .help("Cap bursts of cross traffic by the backlog of the server they come from")
                .long_help(
                    "Cap bursts of cross traffic by the backlog of the server they come from, as \
                     DNC does with its 'server backlog arrival bound'. best tries both",
                ),
        )
        .arg(
            Arg::new("prolong")
                .long("prolong")
                .action(ArgAction::SetTrue)
                .help("Take cross traffic to stay longer where that gives a smaller bound (pmoo, tma)")
                .long_help(
                    "Take cross traffic that leaves a path early to stay longer where that gives a smaller bound, \
                     since it is bounded together with what stays (flow prolongation): for pmoo, tma and \
                     arrivals that are bounded by them. best does so in networks that are not large",
                ),
        )
        .arg(
            Arg::new("arrival-aware")
                .long("arrival-aware")
                .action(ArgAction::SetTrue)
                .help("At ports with turns, count what other classes send where that is less than their share")
                .long_help(
                    "At ports with round robin, give each class what is left where others send less than their share \
                     lets them: by their arrivals, with all flows of the file. Classes without flows count with all \
                     of their share",
                ),
        )
        .arg(
            Arg::new("deadline")
                .long("deadline")
                .value_name("TIME")
                .value_parser(|text: &str| format::time(text))
                .help("Be done with flows that are proven to be in time, such as 5ms")
                .long_help(
                    "Be done with a flow as soon as its delay is proven to be at most that, such as 5ms: \
                     best and quick spend their effort on the others. Bounds that are not the best for that reason are marked \
                     'cut short', the notes say how many flows are in time, and the exit status is 1 if some may be \
                     late",
                ),
        )
        .arg(
            output::threshold("Fail unless it holds for all flows, such as 'delay < 5ms'")
                .conflicts_with("vary")
                .long_help(
                    "Fail, with exit status 1, unless the condition holds for everything: a metric \
                     (delay and backlog bounds of each flow; load of each server as a fraction, and buffer, what it \
                     must hold at most), one of <, <=, >, >=, ==, !=, and a number (5ms, 20kB, 0.8, 80%). \
                     A delay of a flow's own goes into the file, as maximum-delay",
                ),
        )
        .arg(
            Arg::new("derivation")
                .short('d')
                .long("derivation")
                .action(ArgAction::SetTrue)
                .help("Say step by step how each bound came about"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Print JSON, numbers both exact and as doubles, instead of the table"),
        )
        .arg(
            Arg::new("csv")
                .long("csv")
                .action(ArgAction::SetTrue)
                .conflicts_with("json")
                .help("Print CSV, in seconds and bits, instead of the table"),
        )
        .arg(
            Arg::new("vary")
                .long("vary")
                .value_name("WHAT=FROM..TO:STEPS")
                .value_parser(|text: &str| text.parse::<Variation>())
                .conflicts_with_all(["derivation", "plot"])
                .help("Bound the network for each value of one quantity, such as video.rate=0..60Mbps:20")
                .long_help(
                    "Bound the network for each value of one of its quantities, such as \
                     video.rate=0..60Mbps:20: the name of a flow, server or port ('flow', 'server' or \
                     'port' for all alike), the name of a number in the file, both ends of the range, and how many \
                     steps lie between them. rate[1] is the second of several. Only for files in \
                     Planimeter's own format. With --output the bounds are drawn and written as sweep.csv",
                ),
        )
        .arg(
            Arg::new("plot")
                .long("plot")
                .value_name("FOLDER")
                .num_args(0..=1)
                .default_missing_value("curves")
                .value_parser(value_parser!(PathBuf))
                .help("Draw the curves of each flow as SVG files in a folder, 'curves' if none is named"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("DIRECTORY")
                .value_parser(value_parser!(PathBuf))
                .help("Leave a run directory there: report.html, its figures, result.json, CSV"),
        )
        .args(output::papers())
        .arg(
            Arg::new("no-simulation")
                .long("no-simulation")
                .action(ArgAction::SetTrue)
                .help("Look for no runs; faster for large networks"),
        )
        .arg(
            Arg::new("allow-unbounded")
                .long("allow-unbounded")
                .action(ArgAction::SetTrue)
                .help("Exit with 0 although flows have no bound")
                .long_help(
                    "Exit with 0 although flows have no bound. Without it the exit status is 1 when \
                     none of the analyses has a bound for some flow; the notes name the overloaded \
                     server, the cycle or what else is the reason",
                ),
        )
        .arg(
            Arg::new("time-unit")
                .long("time-unit")
                .value_name("UNIT")
                .value_parser(|text: &str| {
                    format::time_unit(text).ok_or("known are s, ms, us, ns and ps")
                })
                .help("Unit of times in the table, such as us; by default that of the file"),
        )
        .arg(
            Arg::new("data-unit")
                .long("data-unit")
                .value_name("UNIT")
                .value_parser(|text: &str| {
                    format::data_unit(text).ok_or("known are b and B, with k, M, G or Ki, Mi, Gi")
                })
                .help("Unit of data in the table, such as kB; by default that of the file"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("N")
                .default_value("0")
                .value_parser(value_parser!(u16))
                .help("Threads; 0 takes one for each core"),
        )
}

/// The file.
pub(super) fn file(matches: &ArgMatches) -> Result<&Path, Failure> {
    let file = matches.get_one::<PathBuf>("file").map(PathBuf::as_path);
    file.ok_or_else(|| Failure::input("no file is named"))
}

/// The network that is bounded: as it was read, or with services that count what other classes send.
pub(super) fn network(matches: &ArgMatches, network: Network) -> Result<Network, AnalysisError> {
    match matches.get_flag("arrival-aware") {
        true => network.arrival_aware(&settings(matches)),
        false => Ok(network),
    }
}

/// Conventions.
pub(super) fn settings(matches: &ArgMatches) -> Settings {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let methods: Vec<ArrivalBound> = matches
        .get_many::<String>("arrival-bound")
        .unwrap_or_default()
        .filter_map(|name| ArrivalBound::ALL.into_iter().find(|method| method.name() == name))
        .collect();
    Settings {
        multiplexing: match text("multiplexing") {
            Some("fifo") => Some(Multiplexing::Fifo),
            Some("arbitrary") => Some(Multiplexing::Arbitrary),
            Some(_) => Some(Multiplexing::StaticPriority),
            None => None,
        },
        flow_of_interest: match text("flow-of-interest") {
            Some("interferes") => FlowOfInterest::Interferes,
            Some("lowest-priority-where-proven") => FlowOfInterest::LowestPriorityWhereProven,
            _ => FlowOfInterest::LowestPriority,
        },
        arrival_bounds: methods,
        cap_bursts: matches.get_flag("cap-bursts"),
        prolong: matches.get_flag("prolong"),
        deadline: matches.get_one::<Rational>("deadline").cloned(),
        threads: matches.get_one::<u16>("threads").copied().unwrap_or(0).into(),
    }
}

/// The analysis that is done if none is named. With a deadline the effort goes to flows that are over it, however large the
/// network is.
pub(super) fn default_analysis(matches: &ArgMatches, network: &Network) -> Analysis {
    match matches.contains_id("deadline") {
        true => Analysis::Best,
        false => network.default_analysis(),
    }
}

/// Analyses in the order in which they were named, or the one that is done by default.
pub(super) fn analyses(matches: &ArgMatches, default: Analysis) -> Vec<Analysis> {
    if !matches.contains_id("analysis") {
        return vec![default];
    }
    let mut analyses = Vec::new();
    for name in matches.get_many::<String>("analysis").unwrap_or_default() {
        // All that quick chooses from are there.
        let of_all = |a: &Analysis| name == "all" && *a != Analysis::Quick;
        let named = Analysis::ALL.into_iter().filter(|a| of_all(a) || a.name() == name);
        for analysis in named {
            if !analyses.contains(&analysis) {
                analyses.push(analysis);
            }
        }
    }
    analyses
}

/// Flows that were named, or all.
pub(super) fn flows(matches: &ArgMatches, network: &Network) -> Result<Vec<FlowId>, Failure> {
    let Some(names) = matches.get_many::<String>("flow") else {
        return Ok(network.flows().map(|(id, _)| id).collect());
    };
    names
        .map(|name| {
            network.flow_named(name).ok_or_else(|| {
                let known: Vec<&str> =
                    network.flows().take(10).map(|(_, flow)| flow.name.as_str()).collect();
                let more = if network.flows().len() > known.len() { " and more" } else { "" };
                let known = known.join(", ");
                Failure::input(format!("no flow is named '{name}'; there are {known}{more}"))
            })
        })
        .collect()
}

/// The unit of times, if one was named.
pub(super) fn time_unit(matches: &ArgMatches) -> Option<Unit> {
    matches.get_one::<Unit>("time-unit").cloned()
}

/// The unit of data, if one was named.
pub(super) fn data_unit(matches: &ArgMatches) -> Option<Unit> {
    matches.get_one::<Unit>("data-unit").cloned()
}
