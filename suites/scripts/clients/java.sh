#!/bin/bash
# Apache Kafka's client for Java, with Client.java compiled against the version.
set -euo pipefail
case $1 in
build)
  [ -e ready ] && exit
  rm -rf libs classes src && mkdir src
  cat > pom.xml <<P
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>minibroker</groupId><artifactId>client</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>$VERSION</version></dependency></dependencies>
</project>
P
  mvn -q -B dependency:copy-dependencies -DoutputDirectory="$PWD/libs" -DincludeScope=runtime >&2
  variant() { # of the calls of 4.x; of those up to 3.x; of those before 2.0; of those before 0.11
    sed ${4:+-e '/since 0.11/,/end$/d;/import.*admin/d' -e 's/attempt("\(admin\|transaction\)".*/System.out.println("skip \1: the client has no such call");/'} -e "s/GROUP)/$1)/" -e "s/NAMES()/$2()/" -e "s/WAIT(/$3(/" "$SCRIPTS/java/Client.java" > src/Client.java
    javac -nowarn -cp 'libs/*' -d classes src/Client.java >&2
  }
  variant 'new ConsumerGroupMetadata(topic)' topicNameValues Duration.ofMillis || variant topic values Duration.ofMillis || variant topic values '' || variant '' '' '' old
  touch ready
  ;;
run)
  exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'libs/*:classes' Client "$ADDRESS" "${TOPIC:-client}"
  ;;
esac
