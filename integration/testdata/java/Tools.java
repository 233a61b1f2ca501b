import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after another in one process. Each line of standard input is a class and its
 * arguments, separated by tabs; a last word that begins with "&lt;" is the tool's standard input. Printed is, for each, a line "&gt;&gt;&gt; " with the exit code, then what the tool
 * wrote to standard output, a line "--- stderr" and what it wrote to standard error.
 */
public class Tools {
    /** The exit code of the tool that runs; set when it ends. */
    static volatile CompletableFuture<Integer> exit;

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> end(code));
        Exit.setHaltProcedure((code, message) -> end(code));
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream stdout = new ByteArrayOutputStream();
            ByteArrayOutputStream stderr = new ByteArrayOutputStream();
            System.setOut(new PrintStream(stdout, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(stderr, true, StandardCharsets.UTF_8));
            exit = new CompletableFuture<>();
            int count = words.length;
            String input = words[count - 1].startsWith("<") ? words[--count].substring(1).replace("\\n", "\n") : "";
            System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
            String[] arguments = Arrays.copyOfRange(words, 1, count);
            Thread tool = new Thread(() -> run(words[0], arguments));
            tool.setDaemon(true);
            tool.start();
            out.println(">>> exit " + exit.get());
            out.print(stdout.toString(StandardCharsets.UTF_8));
            out.println("--- stderr");
            out.print(stderr.toString(StandardCharsets.UTF_8));
            out.flush();
        }
        Runtime.getRuntime().halt(0); // clients that a tool left open must not keep the process
    }

    /** Ends the tool where it stands, as the end of its process would. */
    static void end(int code) {
        exit.complete(code);
        LockSupport.park();
    }

    static void run(String name, String[] args) {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
            exit.complete(0);
        } catch (Throwable failure) {
            Throwable cause = failure.getCause() == null ? failure : failure.getCause();
            System.err.println("Exception in thread \"main\" " + cause);
            exit.complete(1);
        }
    }
}
