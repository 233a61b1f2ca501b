//! rdkafka: does each of the five actions once.
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::{Message, Offset, TopicPartitionList};
use std::error::Error;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;
const SHORT: Duration = Duration::from_secs(20);

fn config(address: &str, more: &[(&str, &str)]) -> ClientConfig {
    let mut c = ClientConfig::new();
    c.set("bootstrap.servers", address);
    for (k, v) in more {
        c.set(*k, *v);
    }
    c
}

fn values(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

async fn send(p: &FutureProducer, to: &str, all: Vec<String>) -> Outcome {
    for v in all {
        p.send(FutureRecord::<(), _>::to(to).payload(&v), SHORT).await.map_err(|(e, _)| e)?;
    }
    Ok(())
}

fn read(c: &BaseConsumer, mut want: Vec<String>) -> Outcome {
    let mut got: Vec<String> = Vec::new();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let enough = got.len() >= want.len();
        match c.poll(Duration::from_millis(500)) {
            Some(m) => got.push(String::from_utf8(m?.payload().unwrap_or(b"").to_vec())?),
            None if enough => break,
            None => {}
        }
        if Instant::now() > end {
            break;
        }
    }
    got.sort();
    want.sort();
    if got != want {
        return Err(format!("read {got:?}, not {want:?}").into());
    }
    Ok(())
}

fn consumer(address: &str, group: &str) -> Result<BaseConsumer, Box<dyn Error>> {
    Ok(config(address, &[("group.id", group), ("auto.offset.reset", "earliest"), ("enable.auto.commit", "false"), ("isolation.level", "read_committed")]).create()?)
}

fn consume(address: &str, from: &str, want: Vec<String>) -> Outcome {
    let c = consumer(address, "alone")?;
    let md = c.fetch_metadata(Some(from), SHORT)?;
    let mut parts = TopicPartitionList::new();
    for p in md.topics()[0].partitions() {
        parts.add_partition_offset(from, p.id(), Offset::Beginning)?;
    }
    c.assign(&parts)?;
    read(&c, want)
}

async fn admin(address: &str, topic: &str) -> Outcome {
    let a: AdminClient<DefaultClientContext> = config(address, &[]).create()?;
    let gone = format!("{topic}-gone");
    let topics = [NewTopic::new(topic, 2, TopicReplication::Fixed(1)), NewTopic::new(&gone, 1, TopicReplication::Fixed(1))];
    for r in a.create_topics(&topics, &AdminOptions::new().operation_timeout(Some(SHORT))).await? {
        r.map_err(|(t, e)| format!("{t}: {e}"))?;
    }
    let c = consumer(address, "alone")?;
    let listed = || -> Result<bool, Box<dyn Error>> { Ok(c.fetch_metadata(None, SHORT)?.topics().iter().any(|t| t.name() == gone)) };
    let end = Instant::now() + SHORT;
    while !listed()? {
        if Instant::now() > end {
            return Err("a new topic is not listed".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    for r in a.delete_topics(&[&gone], &AdminOptions::new().operation_timeout(Some(SHORT))).await? {
        r.map_err(|(t, e)| format!("{t}: {e}"))?;
    }
    for _ in 0..100 {
        if !listed()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("a deleted topic stays".into())
}

async fn produce(address: &str, topic: &str, prefix: &str) -> Outcome {
    let p: FutureProducer = config(address, &[("acks", "all")]).create()?;
    send(&p, topic, values(prefix, 20)).await
}

async fn group(address: &str, topic: &str) -> Outcome {
    for prefix in ["a", "b"] {
        if prefix == "b" {
            produce(address, topic, "b").await?;
        }
        let c = consumer(address, &format!("{topic}-group"))?;
        c.subscribe(&[topic])?;
        read(&c, values(prefix, 20))?;
        c.commit_consumer_state(CommitMode::Sync)?;
    }
    Ok(())
}

async fn transaction(address: &str, topic: &str) -> Outcome {
    let p: FutureProducer = config(address, &[("transactional.id", topic)]).create()?;
    let to = format!("{topic}-txn");
    p.init_transactions(SHORT)?;
    p.begin_transaction()?;
    send(&p, &to, values("no", 5)).await?;
    p.abort_transaction(SHORT)?;
    p.begin_transaction()?;
    send(&p, &to, values("yes", 5)).await?;
    p.commit_transaction(SHORT)?;
    consume(address, &to, values("yes", 5))
}

fn report(name: &str, result: Outcome) {
    match result {
        Ok(()) => println!("ok {name}"),
        Err(e) => println!("fail {name}: {}", e.to_string().replace('\n', " ")),
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (address, topic) = (&args[1], &args[2]);
    report("admin", admin(address, topic).await);
    report("produce", produce(address, topic, "a").await);
    report("consume", consume(address, topic, values("a", 20)));
    report("group", group(address, topic).await);
    report("transaction", transaction(address, topic).await);
}
