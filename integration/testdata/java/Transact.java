import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.serialization.*;

/** Copies topic IN to OUT in transactions of 10 records, every third of which is aborted and done again. */
public class Transact {
    public static void main(String[] a) throws Exception {
        String addr = a[0], in = a[1], out = a[2], id = a[3];
        int total = Integer.parseInt(a[4]);
        Properties c = new Properties();
        c.put("bootstrap.servers", addr);
        c.put("group.id", "copier-" + id);
        c.put("isolation.level", "read_committed");
        c.put("enable.auto.commit", "false");
        c.put("auto.offset.reset", "earliest");
        c.put("max.poll.records", "10");
        Properties p = new Properties();
        p.put("bootstrap.servers", addr);
        p.put("transactional.id", id);
        int copied = 0, aborted = 0, round = 0;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer());
             KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(in));
            while (copied < total) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> r : records) {
                    producer.send(new ProducerRecord<>(out, r.key(), r.value().toUpperCase()));
                    offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (++round % 3 == 0) {
                    producer.abortTransaction();
                    aborted++;
                    Map<TopicPartition, OffsetAndMetadata> back = consumer.committed(consumer.assignment());
                    for (TopicPartition tp : consumer.assignment()) {
                        OffsetAndMetadata o = back.get(tp);
                        consumer.seek(tp, o == null ? 0 : o.offset());
                    }
                    continue;
                }
                producer.commitTransaction();
                copied += records.count();
            }
        }
        System.out.println("copied " + copied + (aborted > 0 ? ", some aborted" : ""));
        try (KafkaProducer<String, String> old = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
             KafkaProducer<String, String> young = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            old.initTransactions();
            old.beginTransaction();
            old.send(new ProducerRecord<>(out, "k", "of a fenced producer")).get();
            young.initTransactions();
            try {
                old.commitTransaction();
                System.out.println("not fenced");
            } catch (ProducerFencedException | InvalidProducerEpochException e) {
                System.out.println("fenced");
            }
        }
    }
}
