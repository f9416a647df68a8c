//! Tests of TLS and mutual TLS, with certificates that the test generates.

use p4runtime::{
    client::{Client, ClientOptions, ClientTls, ConnectError},
    server::{ServeError, Server, ServerOptions, ServerTls},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::support::{Event, Served, soon};

/// A certificate authority, which can issue certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// Issues a certificate and key for a name, in PEM.
    pub(crate) fn issue(&self, name: &str) -> (Vec<u8>, Vec<u8>) {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("issued");
        (certificate.pem().into_bytes(), key.serialize_pem().into_bytes())
    }
}

async fn served(authority: &Authority, client_authorities: Option<Vec<u8>>) -> Served {
    let (certificate, key) = authority.issue("switch.test");
    let tls = ServerTls { certificate, key, client_authorities };
    Served::new(1, ServerOptions { tls: Some(tls), ..ServerOptions::default() }).await
}

/// Connects and makes one call. The call is needed because a refusal of the client's certificate
/// may show only in a call. Returns whether the call succeeded.
async fn try_to_talk(served: &Served, tls: Option<ClientTls>) -> bool {
    let options = ClientOptions { tls, ..ClientOptions::default() };
    match soon(Client::connect(&served.address, 1, &options)).await {
        Ok(mut client) => soon(client.capabilities()).await.is_ok(),
        Err(error) => {
            assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
            false
        }
    }
}

pub(crate) fn trusting(authority: &Authority, identity: Option<(Vec<u8>, Vec<u8>)>) -> ClientTls {
    let server_name = Some("switch.test".to_owned());
    ClientTls { authorities: authority.pem(), server_name, identity }
}

#[tokio::test]
async fn tls_accepts_clients_that_trust_the_server() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let served = served(&authority, None).await;
    assert!(try_to_talk(&served, Some(trusting(&authority, None))).await);
    assert!(!try_to_talk(&served, Some(trusting(&stranger, None))).await);
    let wrong_name =
        ClientTls { server_name: Some("other.test".to_owned()), ..trusting(&authority, None) };
    assert!(!try_to_talk(&served, Some(wrong_name)).await);
    assert!(!try_to_talk(&served, None).await);
    assert!(try_to_talk(&served, Some(trusting(&authority, None))).await);
}

#[tokio::test]
async fn mutual_tls_accepts_only_trusted_clients() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let served = served(&authority, Some(authority.pem())).await;
    let known = authority.issue("controller.test");
    let unknown = stranger.issue("controller.test");
    assert!(try_to_talk(&served, Some(trusting(&authority, Some(known)))).await);
    assert!(!try_to_talk(&served, Some(trusting(&authority, Some(unknown)))).await);
    assert!(!try_to_talk(&served, Some(trusting(&authority, None))).await);
    served.log.wait_for(Event::ConnectionClosed).await;
}

#[test]
fn an_identity_that_cannot_be_used_is_refused_before_anything_listens() {
    let authority = Authority::new();
    let (certificate, _) = authority.issue("switch.test");
    let (_, other_key) = authority.issue("switch.test");
    let none = || b"neither certificate nor key".to_vec();
    let identities = [(none(), none()), (certificate.clone(), none()), (certificate, other_key)];
    for (certificate, key) in identities {
        let tls = ServerTls { certificate, key, client_authorities: None };
        let options = ServerOptions { tls: Some(tls), ..ServerOptions::default() };
        let refused = Server::new([], options).err().expect("it cannot be served");
        assert!(matches!(refused, ServeError::Tls(_)), "{refused}");
    }
}
