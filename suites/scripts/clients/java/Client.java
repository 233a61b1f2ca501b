import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/** Does each of the five actions once: Client ADDRESS TOPIC. What releases call differently is in capitals: java.sh puts it in. */
public class Client {
    static final int COUNT = 20;
    static String address, topic;

    interface Action { void run() throws Exception; }

    static void attempt(String name, Action action) throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(() -> { action.run(); return null; });
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
        try {
            task.get(40, TimeUnit.SECONDS);
            System.out.println("ok " + name);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            while (cause instanceof ExecutionException) cause = cause.getCause();
            System.out.println("fail " + name + ": " + cause.toString().replace('\n', ' '));
        } catch (TimeoutException e) {
            System.out.println("fail " + name + ": no end within 40 s");
        }
    }

    static Properties settings(String... more) {
        Properties p = new Properties();
        p.put("bootstrap.servers", address);
        p.put("max.block.ms", "20000");
        for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
        return p;
    }

    static KafkaProducer<String, String> producer(String... more) {
        return new KafkaProducer<>(settings(more), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String... more) {
        Properties p = settings(more);
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        return new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    static void send(Producer<String, String> producer, String topic, String prefix, int count) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) sent.add(producer.send(new ProducerRecord<>(topic, "k" + i, prefix + i)));
        for (Future<RecordMetadata> f : sent) if (f.get().offset() < 0) throw new IllegalStateException("no offset");
    }

    static Set<String> values(String prefix, int count) {
        Set<String> all = new TreeSet<>();
        for (int i = 0; i < count; i++) all.add(prefix + i);
        return all;
    }

    /** Polls until as many as wanted came, then once more; all must be wanted, each once. */
    static void read(KafkaConsumer<String, String> consumer, Set<String> want) {
        List<String> got = new ArrayList<>();
        long end = System.nanoTime() + 30_000_000_000L;
        while (got.size() < want.size() && System.nanoTime() < end)
            for (ConsumerRecord<String, String> r : consumer.poll(WAIT(200))) got.add(r.value());
        for (ConsumerRecord<String, String> r : consumer.poll(WAIT(300))) got.add(r.value());
        Collections.sort(got);
        if (!got.equals(new ArrayList<>(want))) throw new IllegalStateException("read " + got + ", not " + want);
    }

    static void assignAll(KafkaConsumer<String, String> consumer, String topic) {
        List<TopicPartition> parts = new ArrayList<>();
        consumer.partitionsFor(topic).forEach(p -> parts.add(new TopicPartition(topic, p.partition())));
        consumer.assign(parts);
        consumer.seekToBeginning(parts);
    }

    // since 0.11: administration and transactions
    static void admin() throws Exception {
        try (AdminClient admin = AdminClient.create(settings("request.timeout.ms", "15000"))) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1), new NewTopic(topic + "-gone", 1, (short) 1))).all().get();
            for (int i = 0; !admin.listTopics().names().get().containsAll(List.of(topic, topic + "-gone")); i++) { // the broker hears of them a moment later
                if (i == 100) throw new IllegalStateException("topics not listed");
                Thread.sleep(50);
            }
            int n = admin.describeTopics(List.of(topic)).NAMES().get(topic).get().partitions().size();
            if (n != 2) throw new IllegalStateException(n + " partitions");
            admin.deleteTopics(List.of(topic + "-gone")).all().get();
            for (int i = 0; admin.listTopics().names().get().contains(topic + "-gone"); i++) {
                if (i == 100) throw new IllegalStateException("a deleted topic stays");
                Thread.sleep(50);
            }
        }
    }

    // end
    static void group() throws Exception {
        String group = topic + "-group";
        try (KafkaConsumer<String, String> c = consumer("group.id", group)) {
            c.subscribe(List.of(topic));
            read(c, values("a", COUNT));
            c.commitSync();
        }
        try (KafkaProducer<String, String> p = producer()) { send(p, topic, "b", COUNT); }
        try (KafkaConsumer<String, String> c = consumer("group.id", group)) {
            c.subscribe(List.of(topic));
            read(c, values("b", COUNT));
            c.commitSync();
        }
    }

    // since 0.11: administration and transactions
    static void transaction() throws Exception {
        String out = topic + "-txn";
        try (KafkaProducer<String, String> p = producer("transactional.id", topic)) {
            p.initTransactions();
            p.beginTransaction();
            send(p, out, "no", 5);
            p.abortTransaction();
            p.beginTransaction();
            send(p, out, "yes", 5);
            p.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(3)), GROUP);
            p.commitTransaction();
        }
        try (KafkaConsumer<String, String> c = consumer("isolation.level", "read_committed")) {
            assignAll(c, out);
            read(c, values("yes", 5));
        }
    }

    // end
    public static void main(String[] args) throws Exception {
        address = args[0];
        topic = args[1];
        attempt("admin", Client::admin);
        attempt("produce", () -> { try (KafkaProducer<String, String> p = producer("acks", "all")) { send(p, topic, "a", COUNT); } });
        attempt("consume", () -> {
            try (KafkaConsumer<String, String> c = consumer()) { assignAll(c, topic); read(c, values("a", COUNT)); }
        });
        attempt("group", Client::group);
        attempt("transaction", Client::transaction);
        System.exit(0);
    }
}
