//! The TLS settings of OpenFlow switches, which connect to the controller.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::config::Tls;

/// The reason why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("{file}: {cause}; expected a PEM file")]
    Pem { file: PathBuf, cause: rustls::pki_types::pem::Error },
    #[error("{file} holds no certificate; expected a PEM file with a certificate")]
    NoCertificate { file: PathBuf },
    #[error("tls: {0}")]
    Setup(#[from] rustls::Error),
    #[error("tls.key: {key} is not the private key of the certificate in {certificate}")]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("tls: `{0}` is not a host name or address; set tls.server-name")]
    Name(String),
    #[error("tls.ca is needed to check the controller's certificate; set it, or tls.insecure")]
    NoAuthority,
}

/// Returns the TLS client configuration, and the server name for which the controller's certificate
/// must be valid. `host` is the host to which the switches connect.
pub(crate) fn client_config(
    tls: &Tls,
    host: &str,
) -> Result<(Arc<ClientConfig>, ServerName<'static>), TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let builder = match (&tls.ca, tls.insecure) {
        (_, true) => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        }
        (Some(file), false) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(file)? {
                roots.add(certificate)?;
            }
            builder.with_root_certificates(roots)
        }
        (None, false) => return Err(TlsError::NoAuthority),
    };
    let config = match (&tls.certificate, &tls.key) {
        (Some(chain), Some(key_file)) => {
            let key = PrivateKeyDer::from_pem_file(key_file)
                .map_err(|cause| TlsError::Pem { file: key_file.clone(), cause })?;
            builder.with_client_auth_cert(certificates(chain)?, key).map_err(
                |error| match error {
                    rustls::Error::InconsistentKeys(_) => {
                        TlsError::Mismatch { certificate: chain.clone(), key: key_file.clone() }
                    }
                    other => TlsError::Setup(other),
                },
            )?
        }
        _ => builder.with_no_client_auth(),
    };
    let name = tls.server_name.as_deref().unwrap_or(host);
    let name = ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(name.into()))?;
    Ok((Arc::new(config), name))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = |cause| TlsError::Pem { file: file.to_owned(), cause };
    let found = CertificateDer::pem_file_iter(file)
        .map_err(pem)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(pem)?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate { file: file.to_owned() });
    }
    Ok(found)
}

/// A certificate verifier for the setting `tls.insecure`. It accepts every certificate, but still
/// checks the signatures that prove possession of the certificate's key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
