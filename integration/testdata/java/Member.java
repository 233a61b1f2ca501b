import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a consumer group. It prints each value that it reads, commits what it has read, and leaves at the end of
 * standard input. Arguments: address, topic, group, protocol (classic or consumer), instance id (may be empty).
 */
public class Member {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("group.id", args[2]);
        settings.put("group.protocol", args[3]);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        if (args[3].equals("classic")) {
            settings.put("session.timeout.ms", "3000");
            settings.put("heartbeat.interval.ms", "300");
        }
        if (args.length > 4 && !args[4].isEmpty()) {
            settings.put("group.instance.id", args[4]);
        }
        AtomicBoolean ending = new AtomicBoolean();
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException gone) {
                // as good as the end
            }
            ending.set(true);
        });
        input.setDaemon(true);
        input.start();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(args[1]));
            while (!ending.get()) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
                for (ConsumerRecord<String, String> r : records) {
                    System.out.println(r.value());
                }
                System.out.flush();
                if (!records.isEmpty()) {
                    try {
                        consumer.commitSync();
                    } catch (CommitFailedException failure) {
                        System.err.println(failure);
                    }
                }
            }
        }
    }
}
