//! Certificates for the tests under TLS.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use tempfile::TempDir;

/// An authority and one certificate that it issued for 127.0.0.1, as files.
pub(super) struct Authority {
    folder: TempDir,
}

impl Authority {
    pub(super) fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        // A certificate with its issuer's name would pass for self-signed.
        authority.distinguished_name.push(DnType::CommonName, "conformance authority");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(authority, key).expect("an authority");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, "conformance");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        let write = |name: &str, text: String| {
            fs::write(folder.path().join(name), text).expect("a file");
        };
        write("authority.pem", issuer.pem());
        write("certificate.pem", certificate.pem());
        write("key.pem", key.serialize_pem());
        Self { folder }
    }

    /// Returns the folder of the files `authority.pem`, `certificate.pem` and `key.pem`.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the file with the certificate of the authority.
    pub(super) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Returns the file with the certificate that the authority issued.
    pub(super) fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    /// Returns the file with the private key of that certificate.
    pub(super) fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }
}

impl PartialEq for Authority {
    fn eq(&self, other: &Self) -> bool {
        self.folder.path() == other.folder.path()
    }
}
