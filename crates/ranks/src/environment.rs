//! Connects this process to the other processes of a run, as environment variables specify.

use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use crate::secret::Secret;
use crate::tcp::{MeetError, meet};
use crate::{Group, Rank};

/// The time for which ranks wait for each other at the start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The reason why this process could not join the other ranks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// An environment variable is missing or malformed.
    #[error("{variable}: {problem}")]
    Variable {
        /// The name of the variable.
        variable: &'static str,
        /// The problem with the variable's value.
        problem: String,
    },
    /// The other ranks could not be reached.
    #[error("{0}")]
    Meet(#[from] MeetError),
    /// This process was started by mpirun but built without MPI.
    #[error(
        "this process is one of {size} of mpirun, and planimeter was built without MPI: build it with --features \
         mpi, or set PLANIMETER_RANK, PLANIMETER_RANKS and PLANIMETER_MEET"
    )]
    WithoutMpi {
        /// The number of ranks, according to mpirun.
        size: u32,
    },
    /// MPI could not be initialised.
    #[error("MPI does not start: {0}")]
    Mpi(String),
}

/// The environment variables in which process managers pass the number of processes that they
/// started: that of Open MPI, and that of MPICH and of others with its interface.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// Connects this process to the other ranks, which are the processes of the same run. They are
/// those that mpirun started, or those that three environment variables describe: `PLANIMETER_RANK`
/// (the number of this rank), `PLANIMETER_RANKS` (the number of ranks) and `PLANIMETER_MEET` (the
/// address and port of the first rank). Returns `None` if this process is the only one.
///
/// # Errors
///
/// Returns a [`JoinError`] if there are other ranks and they cannot be joined.
pub fn join() -> Result<Option<Group>, JoinError> {
    join_as(|name| std::env::var(name).ok())
}

fn join_as(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Group>, JoinError> {
    const RANK: &str = "PLANIMETER_RANK";
    const RANKS: &str = "PLANIMETER_RANKS";
    const MEET: &str = "PLANIMETER_MEET";
    if [RANK, RANKS, MEET].iter().any(|name| variable(name).is_some()) {
        let size = number(RANKS, variable(RANKS))?;
        let rank = number(RANK, variable(RANK))?;
        if size <= 1 {
            return Ok(None);
        }
        let address = address(MEET, variable(MEET))?;
        let secret = secret(address, &variable)?;
        return Ok(Some(meet(rank, size, address, &secret, TIMEOUT)?));
    }
    let size = SIZES.iter().find_map(|name| variable(name)?.parse().ok()).unwrap_or(1);
    if size > 1 { mpi(size).map(Some) } else { Ok(None) }
}

const SECRET: &str = "PLANIMETER_SECRET";
const SECRET_FILE: &str = "PLANIMETER_SECRET_FILE";
/// The number of octets that are read from a file with the secret. Further octets are ignored.
const LONGEST_SECRET: usize = 4096;

/// Returns the secret that the environment variables specify. Without a secret, the first rank must
/// have a loopback address.
fn secret(
    address: SocketAddr,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Secret, JoinError> {
    let wrong = |variable, problem| Err(JoinError::Variable { variable, problem });
    let octets = match (variable(SECRET), variable(SECRET_FILE)) {
        (Some(_), Some(_)) => {
            return wrong(SECRET, format!("is set, and {SECRET_FILE} is as well; set one"));
        }
        (Some(secret), None) => secret.into_bytes(),
        (None, Some(path)) => match std::fs::File::open(&path).and_then(|file| {
            let mut octets = Vec::new();
            file.take(LONGEST_SECRET as u64).read_to_end(&mut octets).map(|_| octets)
        }) {
            Ok(octets) => octets.trim_ascii().to_vec(),
            Err(error) => return wrong(SECRET_FILE, format!("`{path}` cannot be read: {error}")),
        },
        (None, None) if address.ip().is_loopback() => return Ok(Secret::new(b"")),
        (None, None) => {
            let problem = format!(
                "is not set, nor is {SECRET_FILE}, while {address} is not a loopback address: whoever \
                 reaches it could take part. Give all ranks the same secret"
            );
            return wrong(SECRET, problem);
        }
    };
    if octets.len() < 16 {
        return wrong(SECRET, "is shorter than 16 octets; `openssl rand -hex 32` makes one".into());
    }
    Ok(Secret::new(&octets))
}

#[cfg(feature = "mpi")]
fn mpi(_: u32) -> Result<Group, JoinError> {
    crate::mpi::start().map_err(JoinError::Mpi)
}

#[cfg(not(feature = "mpi"))]
fn mpi(size: u32) -> Result<Group, JoinError> {
    Err(JoinError::WithoutMpi { size })
}

fn number(variable: &'static str, value: Option<String>) -> Result<u32, JoinError> {
    let wrong = |problem: String| JoinError::Variable { variable, problem };
    let text = value.ok_or_else(|| wrong("is not set, while others of its kind are".into()))?;
    text.parse().map_err(|_| wrong(format!("`{text}` is not a number")))
}

fn address(variable: &'static str, value: Option<String>) -> Result<SocketAddr, JoinError> {
    let wrong = |problem: String| JoinError::Variable { variable, problem };
    let text = value.ok_or_else(|| {
        wrong(format!(
            "is not set; give the address at which {} listens, as host:port",
            Rank::FIRST
        ))
    })?;
    let found = text.to_socket_addrs().map_err(|error| wrong(format!("`{text}`: {error}")))?.next();
    found.ok_or_else(|| wrong(format!("`{text}` has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(variables: &[(&str, &str)]) -> Result<bool, String> {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        join_as(find).map(|group| group.is_some()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_alone_stays_alone() {
        assert_eq!(joined(&[]), Ok(false));
        assert_eq!(joined(&[("OMPI_COMM_WORLD_SIZE", "1")]), Ok(false));
        assert_eq!(joined(&[("PLANIMETER_RANK", "0"), ("PLANIMETER_RANKS", "1")]), Ok(false));
    }

    #[test]
    fn a_missing_variable_is_named() {
        for (variables, wanted) in [
            (&[("PLANIMETER_RANK", "0")][..], "PLANIMETER_RANKS: is not set"),
            (&[("PLANIMETER_RANKS", "two")], "PLANIMETER_RANKS: `two` is not a number"),
            (&[("PLANIMETER_RANKS", "2")], "PLANIMETER_RANK: is not set"),
            (&[("PLANIMETER_RANK", "1"), ("PLANIMETER_RANKS", "2")], "PLANIMETER_MEET: is not set"),
        ] {
            let error = joined(variables).expect_err("something is missing");
            assert!(error.contains(wanted), "{error}");
        }
    }

    /// Checks that an address other than loopback requires a secret, and that the error message
    /// says so.
    #[test]
    fn another_address_than_loopback_needs_a_secret() {
        let at = |address, more: &[(&str, &str)]| {
            let named =
                [("PLANIMETER_RANK", "5"), ("PLANIMETER_RANKS", "2"), ("PLANIMETER_MEET", address)];
            // The rank is out of range, so that no connection is attempted.
            joined(&[&named, more].concat()).expect_err("it joins nobody")
        };
        for (address, more, wanted) in [
            ("192.0.2.1:7000", &[][..], "PLANIMETER_SECRET: is not set"),
            ("0.0.0.0:7000", &[], "PLANIMETER_SECRET: is not set"),
            ("127.0.0.1:7000", &[], "ranks count from 0"),
            ("192.0.2.1:7000", &[("PLANIMETER_SECRET", "0123456789abcdef")], "ranks count from 0"),
            ("192.0.2.1:7000", &[("PLANIMETER_SECRET", "short")], "shorter than 16"),
            ("192.0.2.1:7000", &[("PLANIMETER_SECRET_FILE", "/nowhere")], "cannot be read"),
        ] {
            let error = at(address, more);
            assert!(error.contains(wanted), "{address}: {error}");
        }
    }

    #[cfg(not(feature = "mpi"))]
    #[test]
    fn mpirun_is_noticed_without_mpi() {
        let error = joined(&[("PMI_SIZE", "4")]).expect_err("no MPI");
        assert!(error.contains("one of 4"), "{error}");
    }
}
