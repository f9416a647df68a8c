//! TLS settings of servers: controllers for OpenFlow, switches for P4Runtime.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

/// How a server identifies itself, and whom it trusts, in PEM.
#[derive(Clone)]
pub struct ServerTls {
    /// The server's certificate, followed by those of its issuers.
    pub certificate: Vec<u8>,
    /// The private key of the certificate.
    pub key: Vec<u8>,
    /// If set, clients must show a certificate that one of these has issued (mutual TLS).
    pub client_authorities: Option<Vec<u8>>,
}

impl std::fmt::Debug for ServerTls {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mutual = self.client_authorities.is_some();
        f.debug_struct("ServerTls").field("mutual", &mutual).finish_non_exhaustive()
    }
}

/// Why certificates or keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A text is not PEM.
    #[error("the {what} of the server cannot be read: {cause}; PEM is wanted")]
    Pem {
        /// Which text it is.
        what: &'static str,
        /// What is wrong with it.
        cause: pem::Error,
    },
    /// A text holds no certificate.
    #[error("the {0} of the server holds no certificate; PEM with one is wanted")]
    NoCertificate(&'static str),
    /// Certificate and key do not fit, or are of a kind that is not supported.
    #[error("the TLS certificate or key of the server cannot be used: {0}")]
    Setup(#[from] rustls::Error),
    /// The authorities cannot be used.
    #[error("the authorities that may issue certificates for clients cannot be used: {0}")]
    Authorities(#[from] VerifierBuilderError),
}

impl ServerTls {
    /// The settings as rustls takes them.
    ///
    /// # Errors
    ///
    /// When a text is no PEM or holds no certificate, or when certificate, key and authorities
    /// cannot be used.
    pub fn config(&self) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let builder = match &self.client_authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(authorities, "file of authorities")? {
                    roots.add(certificate)?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let chain = certificates(&self.certificate, "certificate")?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|cause| TlsError::Pem { what: "private key", cause })?;
        Ok(builder.with_single_cert(chain, key)?)
    }
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
