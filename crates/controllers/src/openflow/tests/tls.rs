//! Tests of OpenFlow controllers with TLS and mutual TLS, with valid and invalid certificates.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::super::{
    BindError, Controller, Options, ServerTls, SwitchConnection, SwitchConnectionError, TlsError,
};
use super::loopback::{Switch, await_counts, dial, with_controller};
use super::*;
use crate::application::Application;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Issues a certificate for a name, and returns it with its key in PEM format.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn client(authority: &Authority, identity: Option<(String, String)>) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.0.pem().as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    };
    ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap()
}

fn options(authority: &Authority, mutual: bool) -> Options {
    let (certificate, key) = authority.issue("localhost");
    let tls = ServerTls {
        certificate: certificate.into_bytes(),
        key: key.into_bytes(),
        client_authorities: mutual.then(|| authority.0.pem().into_bytes()),
    };
    Options { application: Application::NullResponder, tls: Some(tls), ..Options::default() }
}

#[test]
fn switches_are_served_under_tls_and_mutual_tls() {
    let authority = Authority::new();
    for mutual in [false, true] {
        with_controller(options(&authority, mutual), |address, _| {
            let identity = mutual.then(|| authority.issue("switch"));
            let stream = StreamOwned::new(client(&authority, identity), dial(address));
            let mut switch = Switch::open(stream, Version::V1_3, 1);
            // This is more than one TLS record or the buffers of the session hold.
            let large = vec![0x5a; 60_000];
            for xid in 0..20 {
                switch.packet(xid, 1, BufferId::NO_BUFFER, &large);
            }
            for xid in 0..20 {
                let answer = switch.answer();
                assert_eq!((answer.xid, answer.payload.len()), (xid, large.len()));
            }
        });
    }
}

#[test]
fn a_switch_without_certificate_is_turned_away_under_mutual_tls() {
    let authority = Authority::new();
    with_controller(options(&authority, true), |address, counters| {
        let stranger = Authority::new();
        for identity in [None, Some(stranger.issue("switch"))] {
            let mut stream = StreamOwned::new(client(&authority, identity), dial(address));
            let _ = stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]);
            assert!(stream.read_to_end(&mut Vec::new()).is_err());
        }
        // Plain OpenFlow is not TLS.
        let mut plain = dial(address);
        plain.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
        let _ = plain.read_to_end(&mut Vec::new());
        await_counts(counters, |counts| counts.failures == 3);
        assert_eq!(counters.counts().sessions, 0);
    });
}

/// Accepts the switch that `connect` runs, with mutual TLS, and waits for 20 of its messages.
/// Returns the negotiated version.
fn accept(
    authority: &Authority,
    connect: impl FnOnce(TcpStream) + Send,
) -> Result<Version, SwitchConnectionError> {
    let listener = SwitchConnection::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let tls = options(authority, true).tls;
    let never = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| connect(dial(address)));
        let accepted =
            SwitchConnection::accept(&listener, &[Version::V1_3], tls.as_ref(), TIMEOUT, &never);
        accepted.and_then(|mut connection| {
            let mut types = Vec::new();
            while types.len() < 20 {
                connection.wait(TIMEOUT)?;
                connection.receive(&mut |frame| types.push(frame.len()))?;
            }
            Ok(connection.version())
        })
    })
}

#[test]
fn one_switch_is_accepted_under_mutual_tls_and_its_messages_arrive() {
    let authority = Authority::new();
    let connected = accept(&authority, |socket| {
        let identity = Some(authority.issue("switch"));
        let stream = StreamOwned::new(client(&authority, identity), socket);
        let mut switch = Switch::shake_hands(stream, Version::V1_3, 1);
        let large = vec![0x5a; 60_000];
        for xid in 0..20 {
            switch.packet(xid, 1, BufferId::NO_BUFFER, &large);
        }
        // A socket that is closed with bytes that were not read loses what it has sent.
        let _ = switch.stream.read_to_end(&mut Vec::new());
    });
    assert_eq!(connected.unwrap(), Version::V1_3);
}

#[test]
fn a_switch_that_is_not_trusted_or_speaks_no_tls_is_named() {
    let authority = Authority::new();
    for identity in [None, Some(Authority::new().issue("switch"))] {
        let refused = accept(&authority, |socket| {
            let mut stream = StreamOwned::new(client(&authority, identity), socket);
            let _ = stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let error = refused.unwrap_err();
        assert!(matches!(error, SwitchConnectionError::Tls { .. }), "{error}");
    }
    let refused = accept(&authority, |mut plain| {
        plain.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
        let _ = plain.read_to_end(&mut Vec::new());
    });
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("the switch must connect with TLS"), "{error}");
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let bind = |change: &dyn Fn(&mut ServerTls)| {
        let mut options = options(&authority, true);
        options.tls.iter_mut().for_each(change);
        match Controller::bind(([127, 0, 0, 1], 0).into(), options) {
            Err(BindError::Tls(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let error = bind(&|tls| tls.certificate.clear());
    assert!(matches!(error, TlsError::NoCertificate("certificate of the server")), "{error}");
    let error = bind(&|tls| tls.key = b"none".to_vec());
    assert!(matches!(error, TlsError::Pem { what: "private key of the server", .. }), "{error}");
    let error = bind(&|tls| tls.key = authority.issue("other").1.into_bytes());
    assert!(matches!(error, TlsError::Setup(_)), "{error}");
    let error = bind(&|tls| tls.client_authorities = Some(Vec::new()));
    assert!(matches!(error, TlsError::NoCertificate("list of authorities for clients")), "{error}");
}
