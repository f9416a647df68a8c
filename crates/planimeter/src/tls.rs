//! The settings of TLS of P4Runtime clients and OpenFlow controllers, from PEM files that flags
//! name.

use std::path::Path;

use controllers::openflow::ServerTls;
use p4runtime::client::ClientTls;

use crate::failure::Failure;

/// The content of a PEM file.
pub(crate) type Pem = Vec<u8>;

/// Reads a PEM file.
pub(crate) fn read(file: &Path) -> Result<Pem, Failure> {
    input::read(file)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))
}

/// Reads a certificate and its private key. Returns `None` if one of the files is not named.
pub(crate) fn identity(
    certificate: Option<&Path>,
    key: Option<&Path>,
) -> Result<Option<(Pem, Pem)>, Failure> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((read(certificate)?, read(key)?))),
        _ => Ok(None),
    }
}

/// Returns the TLS settings of a client that trusts the certificate authorities in `authorities`.
/// If there are none, returns `None`, which stands for a connection without TLS. Returns an error
/// if there is an identity without authorities.
pub(crate) fn client(
    authorities: Option<&Path>,
    identity: Option<(Pem, Pem)>,
    server_name: Option<String>,
) -> Result<Option<ClientTls>, Failure> {
    match (authorities.map(read).transpose()?, identity) {
        (Some(authorities), identity) => Ok(Some(ClientTls { authorities, server_name, identity })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::input(
            "--tls-certificate is shown to switches over TLS; give --tls-ca as well",
        )),
    }
}

/// Returns the TLS settings of an OpenFlow controller, to which switches connect. The controller
/// presents the certificate of its identity. With `authorities`, switches must present certificates
/// that these authorities issued. Returns `None`, for connections without TLS, if neither is given,
/// and an error if there are authorities without an identity.
pub(crate) fn openflow(
    authorities: Option<&Path>,
    identity: Option<(Pem, Pem)>,
) -> Result<Option<ServerTls>, Failure> {
    match (identity, authorities.map(read).transpose()?) {
        (Some((certificate, key)), client_authorities) => {
            Ok(Some(ServerTls { certificate, key, client_authorities }))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::input(
            "--tls-ca asks switches for certificates, which takes TLS; \
             give --tls-certificate and --tls-key as well",
        )),
    }
}
