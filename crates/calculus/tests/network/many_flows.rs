//! Tests of networks with many flows: a second implementation of the analyses without caches, the
//! rounding of long numbers, and interrupted analyses.

use std::collections::BTreeMap;

use calculus::network::{
    Analyser, Analysis, Flow, FlowId, Multiplexing, Network, NetworkBuilder, Server, ServerId,
    Settings,
};
use calculus::{Curve, Extended, Interrupt, Rational};
use proptest::prelude::*;

use super::soundness::config;
use super::support::{network, rl, tb};

/// A token bucket.
#[derive(Clone, Debug)]
struct Bucket {
    burst: Rational,
    rate: Rational,
}

/// A rate-latency curve.
#[derive(Clone, Debug)]
struct Service {
    rate: Rational,
    latency: Rational,
}

impl Service {
    fn curve(&self) -> Curve {
        Curve::rate_latency(self.rate.clone(), self.latency.clone()).expect("a curve")
    }
}

/// Flows towards the root of a tree, and their analyses with explicit lists of flows. No server is
/// overloaded.
#[derive(Debug)]
struct Tree {
    services: Vec<Service>,
    paths: Vec<Vec<usize>>,
    buckets: Vec<Bucket>,
    fifo: bool,
}

impl Tree {
    fn network(&self) -> Network {
        let mut builder = NetworkBuilder::new("tree");
        let server =
            |(index, service): (usize, &Service)| Server::new(format!("s{index}"), service.curve());
        let servers: Vec<Server> = self.services.iter().enumerate().map(server).collect();
        let ids: Vec<ServerId> = servers.into_iter().map(|server| builder.server(server)).collect();
        for (index, (path, bucket)) in self.paths.iter().zip(&self.buckets).enumerate() {
            let arrival =
                Curve::token_bucket(bucket.burst.clone(), bucket.rate.clone()).expect("a curve");
            let path = path.iter().map(|server| ids[*server]).collect();
            builder.flow(Flow::new(format!("f{index}"), path, arrival));
        }
        builder.build().expect("a network")
    }

    fn at(&self, server: usize) -> Vec<usize> {
        (0..self.paths.len()).filter(|flow| self.paths[*flow].contains(&server)).collect()
    }

    fn before(&self, flow: usize, server: usize) -> Option<usize> {
        let place = self.paths[flow].iter().position(|visited| *visited == server)?;
        place.checked_sub(1).map(|place| self.paths[flow][place])
    }

    /// Returns the arrival curve of flows at a server. Flows that come from the previous server on
    /// the path of `lowest` are bounded without `lowest`.
    fn arrival(&self, server: usize, flows: &[usize], lowest: Option<usize>) -> Bucket {
        let mut sum = Bucket { burst: Rational::ZERO, rate: Rational::ZERO };
        let mut over = BTreeMap::<usize, Vec<usize>>::new();
        for flow in flows {
            sum.rate += &self.buckets[*flow].rate;
            match self.before(*flow, server) {
                None => sum.burst += &self.buckets[*flow].burst,
                Some(before) => over.entry(before).or_default().push(*flow),
            }
        }
        for (before, flows) in over {
            let lowest = lowest.filter(|lowest| self.before(*lowest, server) == Some(before));
            // Go back to where the flows part, then through the residual service of all servers
            // from there.
            let (mut first, mut tandem) = (before, vec![before]);
            while let Some(earlier) = self.before(flows[0], first)
                && flows.iter().all(|flow| self.before(*flow, first) == Some(earlier))
            {
                tandem.push(earlier);
                first = earlier;
            }
            let arrival = self.arrival(first, &flows, lowest);
            let left = tandem.iter().map(|server| self.left_over(*server, &flows, lowest).latency);
            sum.burst += arrival.burst + arrival.rate * left.sum::<Rational>();
        }
        sum
    }

    fn left_over(&self, server: usize, flows: &[usize], lowest: Option<usize>) -> Service {
        let mut others = self.at(server);
        others.retain(|other| !flows.contains(other) && Some(*other) != lowest);
        let cross = self.arrival(server, &others, lowest);
        let Service { rate, latency } = self.services[server].clone();
        let left = &rate - &cross.rate;
        let latency = match self.fifo {
            true => latency + cross.burst / rate,
            false => (cross.burst + latency * rate) / &left,
        };
        Service { rate: left, latency }
    }

    fn tfa(&self, flow: usize) -> Rational {
        let delay = |server: &usize| {
            let all = self.at(*server);
            let arrival = self.arrival(*server, &all, None);
            let Service { rate, latency } = self.services[*server].clone();
            match self.fifo || all.len() == 1 {
                true => latency + arrival.burst / rate,
                false => (arrival.burst + latency * &rate) / (rate - arrival.rate),
            }
        };
        self.paths[flow].iter().map(delay).sum()
    }

    fn sfa(&self, flow: usize) -> Rational {
        let left =
            self.paths[flow].iter().map(|server| self.left_over(*server, &[flow], Some(flow)));
        let left: Vec<Service> = left.collect();
        let rate = left.iter().map(|left| left.rate.clone()).min().expect("a server");
        let latencies: Rational = left.iter().map(|left| &left.latency).sum();
        latencies + self.buckets[flow].burst.clone() / rate
    }

    fn pmoo(&self, flow: usize) -> Rational {
        let path = &self.paths[flow];
        // By first and last server on the path; in a tree no flow rejoins the path.
        let mut crossings = BTreeMap::<(usize, usize), Vec<usize>>::new();
        for other in (0..self.paths.len()).filter(|other| *other != flow) {
            let met = |server: &usize| self.paths[other].contains(server);
            if let (Some(first), Some(last)) =
                (path.iter().position(met), path.iter().rposition(met))
            {
                crossings.entry((first, last)).or_default().push(other);
            }
        }
        let mut rates: Vec<Rational> =
            path.iter().map(|at| self.services[*at].rate.clone()).collect();
        let (mut latency, mut data) = (Rational::ZERO, self.buckets[flow].burst.clone());
        for server in path {
            latency += &self.services[*server].latency;
        }
        for ((first, last), flows) in crossings {
            let arrival = self.arrival(path[first], &flows, None);
            data += arrival.burst;
            for place in first..=last {
                rates[place] = &rates[place] - &arrival.rate;
                data += &arrival.rate * &self.services[path[place]].latency;
            }
        }
        latency + data / rates.into_iter().min().expect("a server")
    }
}

/// A function that computes the delay bound of a flow.
type Definition = fn(&Tree, usize) -> Rational;

const BY_DEFINITION: [(Analysis, Definition); 3] =
    [(Analysis::Tfa, Tree::tfa), (Analysis::Sfa, Tree::sfa), (Analysis::Pmoo, Tree::pmoo)];

/// Generates trees: for each server but the root its parent among the servers before it, and its
/// latency; for each flow its first server, number of servers, burst and rate.
fn trees() -> impl Strategy<Value = Tree> {
    let servers = prop::collection::vec((any::<prop::sample::Index>(), 0_i64..5, 1_i64..6), 1..9);
    let flow = (any::<prop::sample::Index>(), 1_usize..6, 1_i64..9, 0_i64..6);
    (servers, prop::collection::vec(flow, 1..9), any::<bool>()).prop_map(
        |(servers, flows, fifo)| {
            let parent = |server: usize| match server {
                0 => None,
                server => Some(servers[server].0.index(server)),
            };
            let path = |first: usize, length: usize| {
                std::iter::successors(Some(first), |server| parent(*server)).take(length).collect()
            };
            let paths: Vec<Vec<usize>> =
                flows.iter().map(|flow| path(flow.0.index(servers.len()), flow.1)).collect();
            let buckets = flows
                .iter()
                .map(|flow| Bucket { burst: flow.2.into(), rate: flow.3.into() })
                .collect();
            let service = |(index, (_, latency, beyond)): (usize, &(_, i64, i64))| {
                let here = flows.iter().zip(&paths).filter(|(_, path)| path.contains(&index));
                let load: i64 = here.map(|(flow, _)| flow.3).sum();
                Service { rate: (load + beyond).into(), latency: Rational::ratio(*latency, 2) }
            };
            let services = servers.iter().enumerate().map(service).collect();
            Tree { services, paths, buckets, fifo }
        },
    )
}

fn delays(tree: &Tree, analysis: Analysis) -> (Vec<Rational>, bool) {
    let network = tree.network();
    let order = if tree.fifo { Multiplexing::Fifo } else { Multiplexing::Arbitrary };
    let analyser =
        Analyser::new(&network, Settings { threads: 1, ..Settings::default().multiplexed(order) });
    let bounds = analyser.bounds(analysis).expect("bounds");
    let finite = bounds.into_iter().map(|bound| bound.delay.into_finite().expect("no overload"));
    (finite.collect(), analyser.has_rounded())
}

proptest! {
    #![proptest_config(config(200))]

    /// Compares the analyses with their definitions: caches and shared sets change no bound.
    #[test]
    fn analyses_are_what_their_definitions_say(tree in trees()) {
        for (analysis, delay) in BY_DEFINITION {
            let (found, has_rounded) = delays(&tree, analysis);
            let expected: Vec<Rational> = (0..tree.paths.len()).map(|flow| delay(&tree, flow)).collect();
            prop_assert_eq!(found, expected, "{}", analysis);
            prop_assert!(!has_rounded);
        }
    }
}

/// Builds a root and 150 servers before it, each with a flow that ends there and one that
/// continues. The residual rates are different primes, whose product is the denominator of the
/// bursts at the root.
fn star(fifo: bool) -> Tree {
    let is_prime = |number: &i64| (2..*number).all(|divisor| number % divisor != 0);
    let primes: Vec<i64> = (1_000..).filter(is_prime).take(150).collect();
    let total = 151;
    let service = |rate: i64| Service { rate: rate.into(), latency: Rational::ratio(1, 10) };
    let mut services = vec![service(10 * total)];
    // Under arbitrary multiplexing, the rate of the other flow is subtracted.
    services.extend(primes.iter().map(|prime| service(prime + i64::from(!fifo))));
    let mut paths = vec![vec![0]];
    paths.extend((1..=150).flat_map(|server| [vec![server, 0], vec![server]]));
    let bucket = |flow: usize| Bucket { burst: (3 + flow as i64 % 7).into(), rate: Rational::ONE };
    let buckets = (0..paths.len()).map(bucket).collect();
    Tree { services, paths, buckets, fifo }
}

#[test]
fn numbers_that_grow_long_are_rounded_up_by_next_to_nothing() {
    for fifo in [false, true] {
        let tree = star(fifo);
        let part =
            Rational::ratio(1, 1 << 60) * Rational::ratio(1, 1 << 60) * Rational::ratio(1, 1 << 60);
        for (analysis, delay) in BY_DEFINITION {
            let (found, has_rounded) = delays(&tree, analysis);
            assert!(has_rounded, "{analysis} {fifo}");
            // A flow of the root, and two that come from other servers.
            for flow in [0, 1, 9] {
                let (found, exact) = (&found[flow], delay(&tree, flow));
                assert!(*found >= exact, "{analysis} {fifo}: a bound holds");
                assert!(
                    *found <= &exact + &(&exact * &part),
                    "{analysis} {fifo}: it is next to the exact one"
                );
            }
            let digits = found.iter().map(|delay| delay.to_string().len()).max();
            assert!(digits < Some(1_000), "{analysis} {fifo}: {digits:?}");
        }
    }
}

/// Builds ten servers in series, and flows over three of them each.
fn tandem(flows: usize) -> Network {
    let services: Vec<Curve> =
        (0..10).map(|place| rl(&(2 * flows + place).to_string(), "1")).collect();
    let paths: Vec<[usize; 3]> =
        (0..flows).map(|flow| [flow % 8, flow % 8 + 1, flow % 8 + 2]).collect();
    let bucket = |flow: usize| tb(&(1 + flow % 5).to_string(), "1");
    let flows: Vec<(Curve, &[usize])> =
        paths.iter().enumerate().map(|(flow, path)| (bucket(flow), &path[..])).collect();
    network(&services, &flows)
}

#[test]
fn an_interrupt_ends_a_flow_in_the_middle() {
    let network = tandem(60);
    let flows: Vec<FlowId> = network.flows().map(|(id, _)| id).collect();
    let settings = Settings { threads: 1, ..Settings::default() };
    for analysis in [Analysis::Best, Analysis::Sfa, Analysis::TfaPlusPlus, Analysis::Plp] {
        for checks in [0, 1, 3] {
            let interrupt = Interrupt::after_checks(checks);
            let analyser = Analyser::new(&network, settings.clone()).stopped_by(interrupt.clone());
            let rows = analyser.assess(&flows, &[analysis], false).expect("what was done");
            assert!(rows.is_empty(), "{analysis} is at its first flow: {checks} {}", rows.len());
            // No further flow is started.
            let after = interrupt.checks().expect("a count") - checks;
            assert!(after <= flows.len() + 1, "{analysis} goes on after {checks} checks: {after}");
        }
    }
    // The best bound of the first flow needs those of all others, and checks the interrupt
    // throughout.
    let interrupt = Interrupt::after_checks(200);
    let analyser = Analyser::new(&network, settings.clone()).stopped_by(interrupt.clone());
    assert!(analyser.assess(&flows, &[Analysis::Best], false).expect("nothing yet").is_empty());
    // An interrupted result is not cached.
    let again = Analyser::new(&network, settings);
    assert_eq!(again.assess(&flows[..1], &[Analysis::Sfa], false).expect("bounds").len(), 1);
}

#[test]
fn the_quick_analysis_is_proven_and_says_what_it_left_out() {
    use std::time::Duration;
    for order in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        let network = tandem(12);
        let settings = Settings::default().multiplexed(order);
        let analyser = Analyser::new(&network, settings);
        let best = analyser.bounds(Analysis::Best).expect("bounds");
        for (quick, best) in analyser.bounds(Analysis::Quick).expect("bounds").iter().zip(best) {
            assert!(quick.delay.is_finite() && quick.delay >= best.delay);
            assert!(quick.delay_by.proven && !quick.cut_short);
        }
        let flows: Vec<FlowId> = network.flows().map(|(id, _)| id).collect();
        let left_out = |analysis| -> Vec<Analysis> {
            let untried = analyser.untried(analysis, &flows, Duration::from_millis(20));
            untried.into_iter().map(|untried| untried.analysis).collect()
        };
        let expected = [Analysis::TandemMatching, Analysis::Ulp, Analysis::Best];
        let found = left_out(Analysis::Quick);
        assert!(expected.iter().all(|analysis| found.contains(analysis)), "{order}: {found:?}");
        // The programs for FIFO paths do not apply to arbitrary multiplexing.
        assert_eq!(found.contains(&Analysis::Plp), order == Multiplexing::Fifo, "{found:?}");
        // Such a small network is searched completely.
        assert_eq!(left_out(Analysis::Best), []);
        assert_eq!(left_out(Analysis::Sfa), []);
        assert_eq!(network.default_analysis(), Analysis::Best);
    }
    // 2,400 hops.
    let large = tandem(800);
    assert_eq!(large.default_analysis(), Analysis::Quick);
    let delay = |analysis| {
        let analyser = Analyser::new(&large, Settings::default());
        analyser.bound(large.flow_named("f0").expect("a flow"), analysis).expect("a bound").delay
    };
    assert!(delay(Analysis::Quick) <= delay(Analysis::TfaPlusPlus));
}

#[test]
fn a_bound_that_a_deadline_cut_short_says_so() {
    let network = tandem(12);
    let flow = network.flow_named("f0").expect("a flow");
    let by = |deadline: Option<Extended>| {
        let deadline = deadline.and_then(Extended::into_finite);
        let analyser = Analyser::new(&network, Settings { deadline, ..Settings::default() });
        analyser.bound(flow, Analysis::Best).expect("a bound")
    };
    let best = by(None);
    assert!(!best.cut_short);
    let tfa = Analyser::new(&network, Settings::default()).bound(flow, Analysis::TfaPlusPlus);
    let tfa = tfa.expect("a bound").delay;
    assert!(best.delay < tfa);
    // The deadline is met by the first analysis; then by none, so that all are tried.
    let first = by(Some(tfa.clone()));
    assert!(first.cut_short && first.delay == tfa);
    let late = by(Some(Extended::ZERO));
    assert!(!late.cut_short && late.delay == best.delay);
}
