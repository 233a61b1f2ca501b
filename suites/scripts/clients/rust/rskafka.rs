//! rskafka, which has neither groups nor transactions: does each of the other actions once.
use rskafka::client::partition::{Compression, OffsetAt, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

type Outcome = Result<(), Box<dyn Error>>;

async fn client(address: &str) -> Result<Client, Box<dyn Error>> {
    Ok(ClientBuilder::new(vec![address.to_owned()]).build().await?)
}

async fn admin(address: &str, topic: &str) -> Outcome {
    let c = client(address).await?;
    let a = c.controller_client()?;
    let gone = format!("{topic}-gone");
    a.create_topic(topic, 2, 1, 10_000).await?;
    a.create_topic(&gone, 1, 1, 10_000).await?;
    for _ in 0..100 {
        if c.list_topics().await?.iter().any(|t| t.name == gone) {
            a.delete_topic(&gone, 10_000).await?;
            for _ in 0..100 {
                if !c.list_topics().await?.iter().any(|t| t.name == gone) {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            return Err("a deleted topic stays".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("topics not listed".into())
}

async fn produce(address: &str, topic: &str) -> Outcome {
    let c = client(address).await?;
    for p in 0..2 {
        let pc = c.partition_client(topic, p, UnknownTopicHandling::Retry).await?;
        let records = (0..10).map(|i| Record { key: None, value: Some(format!("a{p}{i}").into_bytes()), headers: Default::default(), timestamp: chrono::Utc::now() }).collect();
        let offsets = pc.produce(records, Compression::NoCompression).await?;
        if offsets.len() != 10 {
            return Err("offsets are missing".into());
        }
    }
    Ok(())
}

async fn consume(address: &str, topic: &str) -> Outcome {
    let c = client(address).await?;
    for p in 0..2 {
        let pc = c.partition_client(topic, p, UnknownTopicHandling::Retry).await?;
        let (mut at, end) = (pc.get_offset(OffsetAt::Earliest).await?, pc.get_offset(OffsetAt::Latest).await?);
        let mut got = Vec::new();
        while at < end {
            let (records, _) = pc.fetch_records(at, 1..1_000_000, 1_000).await?;
            for r in records {
                at = r.offset + 1;
                got.push(String::from_utf8(r.record.value.unwrap_or_default())?);
            }
        }
        let want: Vec<String> = (0..10).map(|i| format!("a{p}{i}")).collect();
        if got != want {
            return Err(format!("read {got:?}, not {want:?}").into());
        }
    }
    Ok(())
}

fn report(name: &str, result: Result<Outcome, tokio::time::error::Elapsed>) {
    match result {
        Ok(Ok(())) => println!("ok {name}"),
        Ok(Err(e)) => println!("fail {name}: {}", e.to_string().replace('\n', " ")),
        Err(_) => println!("fail {name}: no end within 40 s"),
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (address, topic) = (&args[1], &args[2]);
    let limit = Duration::from_secs(40);
    report("admin", timeout(limit, admin(address, topic)).await);
    report("produce", timeout(limit, produce(address, topic)).await);
    report("consume", timeout(limit, consume(address, topic)).await);
    println!("skip group: the client has no such call");
    println!("skip transaction: the client has no such call");
}
