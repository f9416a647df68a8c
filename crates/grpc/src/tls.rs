//! TLS settings of servers and clients, from PEM texts. Controllers and switches are servers or
//! clients, depending on the protocol.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The identity of a server and the clients that it trusts, in PEM.
#[derive(Clone)]
pub struct ServerTls {
    /// The server's certificate, followed by those of its issuers.
    pub certificate: Vec<u8>,
    /// The private key of the certificate.
    pub key: Vec<u8>,
    /// The certificates of the authorities that issue client certificates. If they are set, clients
    /// must present a certificate issued by one of them (mutual TLS).
    pub client_authorities: Option<Vec<u8>>,
}

impl std::fmt::Debug for ServerTls {
    /// Formats the settings without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mutual = self.client_authorities.is_some();
        f.debug_struct("ServerTls").field("mutual", &mutual).finish_non_exhaustive()
    }
}

/// The servers that a client trusts and its own identity, in PEM.
#[derive(Clone, Default)]
pub struct ClientTls {
    /// The certificates of the authorities that may have issued the server's certificate.
    pub authorities: Vec<u8>,
    /// The name for which the certificate must be valid, or `None` for the host of the address.
    pub server_name: Option<String>,
    /// The client's own certificate and key (mutual TLS).
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for ClientTls {
    /// Formats the settings without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTls")
            .field("server_name", &self.server_name)
            .field("mutual", &self.identity.is_some())
            .finish_non_exhaustive()
    }
}

/// The reason why certificates or keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A certificate or key is not PEM.
    #[error("the {what} cannot be read: {cause}; expected PEM")]
    Pem {
        /// The purpose of the text, such as a key.
        what: &'static str,
        /// The error of parsing the text.
        cause: pem::Error,
    },
    /// A text that should contain certificates contains none. The string names the purpose of the
    /// text.
    #[error("the {0} holds no certificate; expected PEM with a certificate")]
    NoCertificate(&'static str),
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("the TLS certificates or the key cannot be used: {0}")]
    Setup(#[from] rustls::Error),
    /// The certificates of the authorities cannot be used.
    #[error("the authorities that may issue certificates for clients cannot be used: {0}")]
    Authorities(#[from] VerifierBuilderError),
}

impl ServerTls {
    /// Returns the server's settings in the form that rustls uses.
    ///
    /// # Errors
    ///
    /// Returns an error if a text is not PEM or contains no certificate, or if certificate, key and
    /// authorities cannot be used together.
    pub fn config(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(authorities, "list of authorities for clients")? {
                    roots.add(certificate)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&self.certificate, "certificate of the server")?;
        let key = private_key(&self.key, "private key of the server")?;
        Ok(builder.with_single_cert(chain, key)?)
    }
}

impl ClientTls {
    /// Returns the client's settings in the form that rustls uses.
    ///
    /// # Errors
    ///
    /// Returns an error if a text is not PEM or contains no certificate, or if certificate and key
    /// cannot be used together.
    pub fn config(&self) -> Result<ClientConfig, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authorities, "list of authorities for servers")? {
            roots.add(certificate)?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let Some((certificate, key)) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(certificate, "certificate of the client")?;
        let key = private_key(key, "private key of the client")?;
        Ok(builder.with_client_auth_cert(chain, key)?)
    }
}

fn private_key(text: &[u8], what: &'static str) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|cause| TlsError::Pem { what, cause })
}

fn certificates(text: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|cause| TlsError::Pem { what, cause })?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate(what));
    }
    Ok(found)
}
