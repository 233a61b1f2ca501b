import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;

/**
 * Copies a topic in transactions until it is killed: ADDRESS IN OUT GROUP TRANSACTIONAL-ID. Each value comes out as "&lt;" value
 * "&gt;". What cannot go on ends the process; the next one with the same transactional id takes over.
 */
public class Pipeline {
    public static void main(String[] a) {
        String in = a[1], out = a[2];
        Map<String, Object> c = new HashMap<>(Map.of("bootstrap.servers", a[0], "group.id", a[3], "isolation.level", "read_committed",
                "enable.auto.commit", "false", "auto.offset.reset", "earliest", "max.poll.records", "20",
                "session.timeout.ms", "2000", "heartbeat.interval.ms", "300", "reconnect.backoff.max.ms", "200"));
        c.put("fetch.max.wait.ms", "50");
        Map<String, Object> p = Map.of("bootstrap.servers", a[0], "transactional.id", a[4], "transaction.timeout.ms", "30000",
                "reconnect.backoff.max.ms", "200", "max.block.ms", "30000");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(c, new StringDeserializer(), new StringDeserializer());
                KafkaProducer<String, String> producer = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
            producer.initTransactions();
            consumer.subscribe(List.of(in));
            while (true) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                try {
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    for (ConsumerRecord<String, String> r : records) {
                        producer.send(new ProducerRecord<>(out, "<" + r.value() + ">"));
                        offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    producer.commitTransaction();
                } catch (KafkaException e) {
                    producer.abortTransaction(); // throws what no abort helps against
                    Map<TopicPartition, OffsetAndMetadata> back = consumer.committed(consumer.assignment());
                    for (TopicPartition tp : consumer.assignment()) {
                        OffsetAndMetadata o = back.get(tp);
                        consumer.seek(tp, o == null ? 0 : o.offset());
                    }
                }
            }
        }
    }
}
