/* Kernels that try to get out of the sandbox, or to bring the machine down. Each entry returns 0 only if it got through. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRY(name) int name(void **tensors, const int64_t *sizes)
static char message[200];
const char *kc_last_error(void) { return message; }
static int refused(const char *what) { snprintf(message, sizeof message, "refused: %s: %s", what, strerror(errno)); return 1; }

ENTRY(add) {
  const float *a = tensors[0], *b = tensors[1];
  float *c = tensors[2];
  for (int64_t i = 0; i < sizes[0]; i++) c[i] = a[i] + b[i];
  return 0;
}
ENTRY(write_past_end) { ((float *)tensors[2])[sizes[0]] = 1; return 0; }
ENTRY(write_before_start) { ((float *)tensors[2])[-1] = 1; return 0; }
ENTRY(read_past_end) {
  volatile float far = ((float *)tensors[0])[sizes[0] + 64];
  ((float *)tensors[2])[0] = far;
  return 0;
}
ENTRY(change_input) { ((float *)tensors[0])[0] += 1; return 0; }
ENTRY(status_three) { return 3; }
ENTRY(own_message) { strcpy(message, "size must be even"); return 1; }
ENTRY(infinite_loop) { for (volatile int i = 0;; i++) {} }
ENTRY(sleep_forever) { for (;;) pause(); }
ENTRY(null_pointer) { *(volatile int *)8 = 1; return 0; }
ENTRY(abort_itself) { abort(); }
ENTRY(illegal_instruction) { __builtin_trap(); }
ENTRY(exit_early) { _exit(0); }
ENTRY(huge_output) { for (;;) puts("a line that goes on and on and on and on and on and on and on and on and on"); }
ENTRY(memory_bomb) {
  for (;;) {
    char *block = malloc(64 << 20);
    if (!block) return refused("malloc");
    memset(block, 1, 64 << 20);
  }
}
ENTRY(stack_bomb) { volatile char block[1 << 16]; block[0] = 1; return stack_bomb(tensors, sizes) + block[0]; }
ENTRY(fork_bomb) { for (;;) if (fork() < 0) return refused("fork"); }
ENTRY(clone_directly) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) < 0 ? refused("clone") : 0; }
static void *idle(void *argument) { pause(); return argument; }
ENTRY(thread_bomb) {
  for (;;) {
    pthread_t thread;
    errno = pthread_create(&thread, NULL, idle, NULL);
    if (errno) return refused("pthread_create");
  }
}
ENTRY(run_program) { char *argv[] = {"/bin/true", NULL}; execv(argv[0], argv); return refused("execve"); }
ENTRY(tcp_socket) { return socket(AF_INET, SOCK_STREAM, 0) < 0 ? refused("socket") : 0; }
ENTRY(unix_socket) { int pair[2]; return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? refused("socketpair") : 0; }
ENTRY(read_shadow) { return open("/etc/shadow", O_RDONLY) < 0 ? refused("open") : 0; }
ENTRY(read_passwd) { return open("/etc/passwd", O_RDONLY) < 0 ? refused("open") : 0; }
ENTRY(read_home) { return open(getenv("HOSTILE_PATH"), O_RDONLY) < 0 ? refused("open") : 0; }
ENTRY(list_root) { return open("/", O_RDONLY | O_DIRECTORY) < 0 ? refused("open") : 0; }
ENTRY(read_environment_of_parent) { return open("/proc/1/environ", O_RDONLY) < 0 ? refused("open") : 0; }
ENTRY(write_outside) { return open(getenv("HOSTILE_PATH"), O_WRONLY | O_CREAT, 0600) < 0 ? refused("open") : 0; }
ENTRY(delete_outside) { return unlink(getenv("HOSTILE_PATH")) < 0 ? refused("unlink") : 0; }
ENTRY(change_mode) { return chmod(getenv("HOSTILE_PATH"), 0777) < 0 ? refused("chmod") : 0; }
ENTRY(kill_parent) { return kill(getppid(), SIGKILL) < 0 ? refused("kill") : 0; }
ENTRY(kill_everyone) { return kill(-1, SIGKILL) < 0 ? refused("kill") : 0; }
ENTRY(thread_signal_parent) { return syscall(SYS_tgkill, getppid(), getppid(), SIGKILL) < 0 ? refused("tgkill") : 0; }
ENTRY(trace_parent) { return ptrace(PTRACE_ATTACH, getppid(), 0, 0) < 0 ? refused("ptrace") : 0; }
ENTRY(new_session) { return setsid() < 0 ? refused("setsid") : 0; }
ENTRY(become_root) { return setuid(0) < 0 ? refused("setuid") : geteuid() == 0 ? 0 : refused("still nobody"); }
ENTRY(user_namespace) { return syscall(SYS_unshare, 0x10000000) < 0 ? refused("unshare") : 0; }
ENTRY(memory_file) { return syscall(SYS_memfd_create, "x", 0) < 0 ? refused("memfd_create") : 0; }
ENTRY(shared_memory) { return syscall(SYS_shmget, 1, 4096, 01666) < 0 ? refused("shmget") : 0; }
ENTRY(raise_limits) {
  struct { unsigned long now, most; } limit = {~0ul, ~0ul};
  return syscall(SYS_prlimit64, 0, 9 /* address space */, &limit, 0) < 0 ? refused("prlimit64") : 0;
}
ENTRY(truncate_arena) {
  for (int fd = 3; fd < 64; fd++) if (ftruncate(fd, 0) == 0) return 0;
  return refused("ftruncate");
}
ENTRY(old_system_calls) {
#if defined(__x86_64__)
  return syscall(0x40000000 | 41, AF_INET, SOCK_STREAM, 0) < 0 ? refused("x32 socket") : 0;
#else
  errno = ENOSYS;
  return refused("no second set of calls here");
#endif
}
__attribute__((weak)) int kc_threads;
ENTRY(tell_threads) { ((float *)tensors[2])[0] = kc_threads; ((float *)tensors[2])[1] = atoi(getenv("KC_NUM_THREADS")); return 0; }
