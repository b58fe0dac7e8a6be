"""tap.py - runs unittest and prints TAP. A subTest that fails makes its test fail."""
import sys
import unittest


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.bad = 0
        self.subtests = []

    def say(self, test, good, text="", more=""):
        self.bad += not good
        name = test.shortDescription() or test.id().rpartition(".")[2].replace("_", " ")
        name = name[len("test "):] if name.startswith("test ") else name
        print("%s %d - %s%s" % ("ok" if good else "not ok", self.testsRun, name, more))
        for line in text.splitlines():
            print("# " + line)
        sys.stdout.flush()

    def startTest(self, test):
        super().startTest(test)
        self.subtests = []

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.subtests.append("%s\n%s" % (subtest, self._exc_info_to_string(err, test)))

    def stopTest(self, test):
        if self.subtests:
            self.say(test, False, "\n".join(self.subtests))
        super().stopTest(test)

    def addSuccess(self, test):
        self.say(test, True)

    def addFailure(self, test, err):
        self.say(test, False, self._exc_info_to_string(err, test))

    addError = addFailure

    def addSkip(self, test, reason):
        self.say(test, True, more=" # SKIP " + reason)


def main(module="__main__"):
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module])
    if len(sys.argv) > 1:
        suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:], sys.modules[module])
    result = Result()
    suite.run(result)
    print("1..%d" % result.testsRun)
    sys.exit(result.bad > 0)
