import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends COUNT records with 8-byte keys and 250-byte values to partition 0 of a topic, ten to a batch. Their timestamps are
 * a millisecond apart, so that the sizes of batches and time indexes do not depend on how fast the broker answers.
 */
public class Fill {
    public static void main(String[] args) {
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        settings.put("linger.ms", "1000");
        settings.put("compression.type", "none");
        String value = "v".repeat(250);
        long start = System.currentTimeMillis() - count;
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(topic, 0, start + i, String.format("k-%06d", i), value));
                if (i % 10 == 9) {
                    producer.flush();
                }
            }
            producer.flush();
        }
        System.out.println("sent " + count + " records to " + topic);
    }
}
